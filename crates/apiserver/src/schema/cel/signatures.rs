//! The functions and operators that there are, and what they take and give.

use super::authorizer;
use super::types::Type;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Signature {
    /// Whether the first argument stands before the dot.
    pub method: bool,
    pub args: Vec<Type<'static>>,
    pub result: Type<'static>,
}

/// All ways to call a function, or nothing if there is none of that name.
pub(super) fn signatures(name: &str) -> Option<&'static [Signature]> {
    static ALL: LazyLock<BTreeMap<String, Vec<Signature>>> = LazyLock::new(read);
    ALL.get(name).map(Vec::as_slice)
}

/// `name: (arguments) result`, with a dot before the bracket for methods. Several ways are separated by bars; `N`
/// stands for every number in turn, `O` for everything that has an order.
const TABLE: &str = "
_+_: (int,int)int|(uint,uint)uint|(double,double)double|(string,string)string|(bytes,bytes)bytes|(list(A),list(A))list(A)|(timestamp,duration)timestamp|(duration,timestamp)timestamp|(duration,duration)duration
_-_: (int,int)int|(uint,uint)uint|(double,double)double|(timestamp,timestamp)duration|(timestamp,duration)timestamp|(duration,duration)duration
_*_: (int,int)int|(uint,uint)uint|(double,double)double
_/_: (int,int)int|(uint,uint)uint|(double,double)double
_%_: (int,int)int|(uint,uint)uint
-_: (int)int|(double)double
!_: (bool)bool
_==_: (A,A)bool
_!=_: (A,A)bool
_<_: (O,O)bool|(int,uint)bool|(int,double)bool|(uint,int)bool|(uint,double)bool|(double,int)bool|(double,uint)bool
_<=_: (O,O)bool|(int,uint)bool|(int,double)bool|(uint,int)bool|(uint,double)bool|(double,int)bool|(double,uint)bool
_>_: (O,O)bool|(int,uint)bool|(int,double)bool|(uint,int)bool|(uint,double)bool|(double,int)bool|(double,uint)bool
_>=_: (O,O)bool|(int,uint)bool|(int,double)bool|(uint,int)bool|(uint,double)bool|(double,int)bool|(double,uint)bool
@in: (A,list(A))bool|(A,map(A,B))bool
_[_]: (list(A),int)A|(map(A,B),A)B
size: (string)int|(bytes)int|(list(A))int|(map(A,B))int|.(string)int|.(bytes)int|.(list(A))int|.(map(A,B))int
type: (A)type(A)
dyn: (A)dyn
bool: (bool)bool|(string)bool
bytes: (bytes)bytes|(string)bytes
double: (double)double|(int)double|(uint)double|(string)double
duration: (duration)duration|(string)duration
int: (int)int|(uint)int|(double)int|(string)int|(timestamp)int|(duration)int
uint: (uint)uint|(int)uint|(double)uint|(string)uint
string: (string)string|(bool)string|(bytes)string|(double)string|(duration)string|(int)string|(timestamp)string|(uint)string|(ip)string|(cidr)string
timestamp: (timestamp)timestamp|(int)timestamp|(string)timestamp
contains: .(string,string)bool
endsWith: .(string,string)bool
startsWith: .(string,string)bool
matches: (string,string)bool|.(string,string)bool
getFullYear: .(timestamp)int|.(timestamp,string)int
getMonth: .(timestamp)int|.(timestamp,string)int
getDayOfYear: .(timestamp)int|.(timestamp,string)int
getDayOfMonth: .(timestamp)int|.(timestamp,string)int
getDate: .(timestamp)int|.(timestamp,string)int
getDayOfWeek: .(timestamp)int|.(timestamp,string)int
getHours: .(timestamp)int|.(timestamp,string)int|.(duration)int
getMinutes: .(timestamp)int|.(timestamp,string)int|.(duration)int
getSeconds: .(timestamp)int|.(timestamp,string)int|.(duration)int
getMilliseconds: .(timestamp)int|.(timestamp,string)int|.(duration)int
charAt: .(string,int)string
indexOf: .(string,string)int|.(string,string,int)int|.(list(A),A)int
lastIndexOf: .(string,string)int|.(string,string,int)int|.(list(A),A)int
lowerAscii: .(string)string
upperAscii: .(string)string
trim: .(string)string
replace: .(string,string,string)string|.(string,string,string,int)string
split: .(string,string)list(string)|.(string,string,int)list(string)
substring: .(string,int)string|.(string,int,int)string
join: .(list(string))string|.(list(string),string)string
format: .(string,list(dyn))string
strings.quote: (string)string
isSorted: .(list(O))bool
min: .(list(O))O
max: .(list(O))O
sum: .(list(N))N|.(list(duration))duration
slice: .(list(A),int,int)list(A)
flatten: .(list(list(A)))list(A)|.(list(dyn),int)list(dyn)
sort: .(list(O))list(O)
distinct: .(list(A))list(A)
reverse: .(list(A))list(A)
first: .(list(A))optional(A)
last: .(list(A))optional(A)
lists.range: (int)list(int)
sets.contains: (list(A),list(A))bool
sets.equivalent: (list(A),list(A))bool
sets.intersects: (list(A),list(A))bool
find: .(string,string)string
findAll: .(string,string)list(string)|.(string,string,int)list(string)
url: (string)url
isURL: (string)bool
getScheme: .(url)string
getHost: .(url)string
getHostname: .(url)string
getPort: .(url)string
getEscapedPath: .(url)string
getQuery: .(url)map(string,list(string))
ip: (string)ip|.(cidr)ip
isIP: (string)bool
ip.isCanonical: (string)bool
family: .(ip)int
isUnspecified: .(ip)bool
isLoopback: .(ip)bool
isLinkLocalMulticast: .(ip)bool
isLinkLocalUnicast: .(ip)bool
isGlobalUnicast: .(ip)bool
cidr: (string)cidr
isCIDR: (string)bool
containsIP: .(cidr,string)bool|.(cidr,ip)bool
containsCIDR: .(cidr,string)bool|.(cidr,cidr)bool
prefixLength: .(cidr)int
masked: .(cidr)cidr
quantity: (string)quantity
isQuantity: (string)bool
sign: (quantity)int
isGreaterThan: .(quantity,quantity)bool|.(semver,semver)bool
isLessThan: .(quantity,quantity)bool|.(semver,semver)bool
compareTo: .(quantity,quantity)int|.(semver,semver)int
asApproximateFloat: .(quantity)double
asInteger: .(quantity)int
isInteger: .(quantity)bool
add: .(quantity,quantity)quantity|.(quantity,int)quantity
sub: .(quantity,quantity)quantity|.(quantity,int)quantity
semver: (string)semver|(string,bool)semver
isSemver: (string)bool|(string,bool)bool
major: .(semver)int
minor: .(semver)int
patch: .(semver)int
format.named: (string)optional(format)
format.dns1123Label: ()format
format.dns1123Subdomain: ()format
format.dns1035Label: ()format
format.qualifiedName: ()format
format.dns1123LabelPrefix: ()format
format.dns1123SubdomainPrefix: ()format
format.dns1035LabelPrefix: ()format
format.labelValue: ()format
format.uri: ()format
format.uuid: ()format
format.byte: ()format
format.date: ()format
format.datetime: ()format
validate: .(format,string)optional(list(string))
path: .(authorizer,string)pathcheck
group: .(authorizer,string)groupcheck
serviceAccount: .(authorizer,string,string)authorizer
resource: .(groupcheck,string)resourcecheck
subresource: .(resourcecheck,string)resourcecheck
namespace: .(resourcecheck,string)resourcecheck
name: .(resourcecheck,string)resourcecheck
fieldSelector: .(resourcecheck,string)resourcecheck
labelSelector: .(resourcecheck,string)resourcecheck
check: .(pathcheck,string)decision|.(resourcecheck,string)decision
allowed: .(decision)bool
reason: .(decision)string
errored: .(decision)bool
error: .(decision)string
optional.of: (A)optional(A)
optional.none: ()optional(A)
optional.ofNonZeroValue: (A)optional(A)
hasValue: .(optional(A))bool
value: .(optional(A))A
or: .(optional(A),optional(A))optional(A)
orValue: .(optional(A),A)A
";

const ORDERED: [&str; 8] = ["int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration"];
const NUMBERS: [&str; 3] = ["int", "uint", "double"];

fn read() -> BTreeMap<String, Vec<Signature>> {
    let mut all: BTreeMap<String, Vec<Signature>> = BTreeMap::new();
    for (name, ways) in TABLE.lines().filter_map(|line| line.split_once(": ")) {
        for way in ways.split('|') {
            let expanded: Vec<String> = match (way.contains('O'), way.contains('N')) {
                (true, _) => ORDERED.iter().map(|type_| way.replace('O', type_)).collect(),
                (_, true) => NUMBERS.iter().map(|type_| way.replace('N', type_)).collect(),
                _ => vec![way.to_owned()],
            };
            all.entry(name.to_owned()).or_default().extend(expanded.iter().map(|way| signature(way)));
        }
    }
    all
}

fn signature(text: &str) -> Signature {
    let method = text.starts_with('.');
    let mut rest = text.trim_start_matches(['.', '(']);
    let mut args = Vec::new();
    while !rest.starts_with(')') {
        args.push(type_(&mut rest));
        rest = rest.trim_start_matches(',');
    }
    rest = &rest[1..];
    Signature { method, args, result: type_(&mut rest) }
}

/// Reads a type off the text.
fn type_(rest: &mut &str) -> Type<'static> {
    let end = rest.find(['(', ',', ')']).unwrap_or(rest.len());
    let name = &rest[..end];
    *rest = &rest[end..];
    let inner = |rest: &mut &str| {
        *rest = &rest[1..];
        Box::new(type_(rest))
    };
    match name {
        "list" | "optional" | "type" => {
            let item = inner(rest);
            *rest = &rest[1..];
            match name {
                "list" => Type::List(item),
                "optional" => Type::Optional(item),
                _ => Type::Meta(item),
            }
        }
        "map" => {
            let key = inner(rest);
            let value = inner(rest);
            *rest = &rest[1..];
            Type::Map(key, value)
        }
        "A" => Type::Param(0),
        "B" => Type::Param(1),
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "url" => Type::Opaque("kubernetes.URL"),
        "ip" => Type::Opaque("net.IP"),
        "cidr" => Type::Opaque("net.CIDR"),
        "quantity" => Type::Opaque("kubernetes.Quantity"),
        "semver" => Type::Opaque("kubernetes.Semver"),
        "format" => Type::Opaque("kubernetes.NamedFormat"),
        "authorizer" => Type::Opaque(authorizer::AUTHORIZER),
        "pathcheck" => Type::Opaque(authorizer::PATH_CHECK),
        "groupcheck" => Type::Opaque(authorizer::GROUP_CHECK),
        "resourcecheck" => Type::Opaque(authorizer::RESOURCE_CHECK),
        "decision" => Type::Opaque(authorizer::DECISION),
        _ => Type::Dyn,
    }
}
