mod decisions;
mod queue;
mod steps;
mod wanted;
