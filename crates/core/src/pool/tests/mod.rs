mod decisions;
mod steps;
mod wanted;
