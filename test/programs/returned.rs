// Functions with results of all classes. The program prints each result as jalon shows it.
#![allow(dead_code)]
use std::ptr::read_volatile;

type U = u64;

// A value of which the compiler knows nothing.
#[inline(never)]
fn any<T: Copy>(x: T) -> T { unsafe { read_volatile(&x) } }

trait Shown { fn shown(&self) -> String; }
macro_rules! plain { ($($t:ty),*) => { $(impl Shown for $t { fn shown(&self) -> String { format!("{}", self) } })* } }
plain!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, usize, f32, f64, bool);
impl Shown for () { fn shown(&self) -> String { "null".into() } }
impl Shown for char { fn shown(&self) -> String { format!("{}", *self as u32) } }
impl<T> Shown for &T { fn shown(&self) -> String { format!("\"{:#x}\"", *self as *const T as usize) } }
impl<T> Shown for Box<T> { fn shown(&self) -> String { format!("\"{:#x}\"", &**self as *const T as usize) } }
impl Shown for &str { fn shown(&self) -> String { format!("{{\"data_ptr\":\"{:#x}\",\"length\":{}}}", self.as_ptr() as usize, self.len()) } }
impl<T: Shown> Shown for &[T] { fn shown(&self) -> String { format!("[{}]", self.iter().map(|x| x.shown()).collect::<Vec<_>>().join(",")) } }
impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String { match self { Some(x) => format!("{{\"Some\":{{\"__0\":{}}}}}", x.shown()), None => "\"None\"".into() } }
}
impl<T: Shown, E: Shown> Shown for Result<T, E> {
    fn shown(&self) -> String {
        match self { Ok(x) => format!("{{\"Ok\":{{\"__0\":{}}}}}", x.shown()), Err(x) => format!("{{\"Err\":{{\"__0\":{}}}}}", x.shown()) }
    }
}
impl<A: Shown, B: Shown> Shown for (A, B) { fn shown(&self) -> String { format!("{{\"__0\":{},\"__1\":{}}}", self.0.shown(), self.1.shown()) } }
impl<A: Shown, B: Shown, C: Shown> Shown for (A, B, C) {
    fn shown(&self) -> String { format!("{{\"__0\":{},\"__1\":{},\"__2\":{}}}", self.0.shown(), self.1.shown(), self.2.shown()) }
}
impl<T: Shown, const N: usize> Shown for [T; N] {
    fn shown(&self) -> String { format!("[{}]", self.iter().map(|x| x.shown()).collect::<Vec<_>>().join(",")) }
}

macro_rules! record {
    ($(#[$a:meta])* $name:ident { $($f:ident: $t:ty),* }) => {
        $(#[$a])* #[derive(Clone, Copy)] pub struct $name { $($f: $t),* }
        impl Shown for $name {
            fn shown(&self) -> String { let mut s: Vec<String> = Vec::new(); $({ let x = self.$f; s.push(format!("\"{}\":{}", stringify!($f), x.shown())); })* format!("{{{}}}", s.join(",")) }
        }
    };
}
record!(Two { a: u32, b: u32 });
record!(#[repr(C)] TwoC { a: u32, b: u32 });
record!(Mixed { a: f64, b: u64 });
record!(Floats { a: f32, b: f32 });
record!(Doubles { a: f64, b: f64 });
record!(Three { a: u16, b: u16, c: u16 });
record!(Bytes { a: u8, b: u16, c: u64 });
record!(Large { a: u64, b: u32, c: f64, d: u8 });
record!(Meters { m: f64 });
record!(#[repr(C)] MetersC { m: f64 });
record!(Half { m: f32 });
record!(Wrap { w: Two });
record!(#[repr(packed)] Packed { a: u32, b: u32 });
record!(#[repr(align(16))] Aligned { a: u64 });
record!(Flags { a: bool, b: u32 });
record!(Halves { a: f32, b: f32, c: f32 });

#[derive(Clone, Copy)] enum Level { Low, Mid, High }
impl Shown for Level { fn shown(&self) -> String { format!("\"{}\"", match self { Level::Low => "Low", Level::Mid => "Mid", Level::High => "High" }) } }
#[derive(Clone, Copy)] enum Shape { Circle(f64), Rect { w: i32, h: i32 }, Unit, Byte(u8) }
impl Shown for Shape {
    fn shown(&self) -> String {
        match self {
            Shape::Circle(r) => format!("{{\"Circle\":{{\"__0\":{}}}}}", r.shown()),
            Shape::Rect { w, h } => format!("{{\"Rect\":{{\"w\":{},\"h\":{}}}}}", w, h),
            Shape::Unit => "\"Unit\"".into(),
            Shape::Byte(b) => format!("{{\"Byte\":{{\"__0\":{}}}}}", b),
        }
    }
}

static WORDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
static TEXT: &str = "a text of the program";

// Results are used by the callers in full: they print them.
macro_rules! functions {
    ($($f:ident: $t:ty = |$n:ident| $e:expr;)*) => {
        $(#[inline(never)] fn $f($n: U) -> $t { let $n = any($n); $e })*
        fn all(n: U) { $(let r = $f(n); println!("{} {}", stringify!($f), Shown::shown(&r));)* }
    };
}
functions! {
    r_u8: u8 = |n| (n * 37) as u8;
    r_i8: i8 = |n| -(n as i8) * 3;
    r_u16: u16 = |n| (n * 7001) as u16;
    r_i16: i16 = |n| -(n as i16) * 1001;
    r_u32: u32 = |n| (n * 400_000_003) as u32;
    r_i32: i32 = |n| -(n as i32) * 100_001;
    r_u64: u64 = |n| n.wrapping_mul(0x9e3779b97f4a7c15);
    r_i64: i64 = |n| -(n as i64) * 1_000_000_007;
    r_u128: u128 = |n| (n as u128) << 70 | n as u128;
    r_f32: f32 = |n| n as f32 / 4.0 + 0.5;
    r_f64: f64 = |n| n as f64 / 8.0 + 0.25;
    r_bool: bool = |n| n % 3 == 0;
    r_char: char = |n| char::from_u32(0x4e00 + n as u32).unwrap();
    r_ref: &'static u64 = |n| &WORDS[n as usize % 8];
    r_box: Box<u64> = |n| Box::new(n);
    r_str: &'static str = |n| &TEXT[..n as usize % 20 + 1];
    r_slice: &'static [u64] = |n| &WORDS[..n as usize % 8];
    r_opt_ref: Option<&'static u64> = |n| if n % 3 == 0 { None } else { Some(&WORDS[n as usize % 8]) };
    r_opt_box: Option<Box<u64>> = |n| if n % 3 == 0 { None } else { Some(Box::new(n)) };
    r_opt_str: Option<&'static str> = |n| if n % 3 == 0 { None } else { Some(&TEXT[..n as usize % 20]) };
    r_opt_u8: Option<u8> = |n| if n % 3 == 0 { None } else { Some(n as u8 * 5) };
    r_opt_u32: Option<u32> = |n| if n % 3 == 0 { None } else { Some(n as u32 * 77) };
    r_opt_u64: Option<u64> = |n| if n % 3 == 0 { None } else { Some(n * 77) };
    r_opt_f32: Option<f32> = |n| if n % 3 == 0 { None } else { Some(n as f32 / 2.0 + 0.25) };
    r_opt_f64: Option<f64> = |n| if n % 3 == 0 { None } else { Some(n as f64 / 2.0 + 0.25) };
    r_opt_bool: Option<bool> = |n| if n % 3 == 0 { None } else { Some(n % 3 == 1) };
    r_opt_char: Option<char> = |n| if n % 3 == 0 { None } else { char::from_u32(97 + n as u32) };
    r_opt_opt: Option<Option<bool>> = |n| match n % 4 { 0 => None, 1 => Some(None), 2 => Some(Some(false)), _ => Some(Some(true)) };
    r_opt_two: Option<Two> = |n| if n % 3 == 0 { None } else { Some(Two { a: n as u32, b: 9 - n as u32 % 9 }) };
    r_opt_flags: Option<Flags> = |n| if n % 3 == 0 { None } else { Some(Flags { a: n % 3 == 1, b: n as u32 }) };
    r_opt_large: Option<Large> = |n| if n % 3 == 0 { None } else { Some(Large { a: n, b: 2, c: 0.5, d: 4 }) };
    r_opt_level: Option<Level> = |n| match n % 4 { 0 => None, 1 => Some(Level::Low), 2 => Some(Level::Mid), _ => Some(Level::High) };
    r_res_u32: Result<u32, u8> = |n| if n % 3 == 0 { Err(n as u8) } else { Ok(n as u32 * 9) };
    r_res_same: Result<u32, u32> = |n| if n % 3 == 0 { Err(n as u32) } else { Ok(n as u32 * 9) };
    r_res_signs: Result<u32, i32> = |n| if n % 3 == 0 { Err(-(n as i32)) } else { Ok(n as u32 * 9) };
    r_res_words: Result<u64, i64> = |n| if n % 3 == 0 { Err(-(n as i64)) } else { Ok(n * 9) };
    r_res_box: Result<u64, Box<u64>> = |n| if n % 3 == 0 { Err(Box::new(n)) } else { Ok(n * 9) };
    r_res_float: Result<f64, u64> = |n| if n % 3 == 0 { Err(n) } else { Ok(n as f64 / 4.0 + 0.5) };
    r_res_unit: Result<(), u32> = |n| if n % 3 == 0 { Err(n as u32 + 1) } else { Ok(()) };
    r_res_large: Result<Large, u32> = |n| if n % 3 == 0 { Err(n as u32) } else { Ok(Large { a: n, b: 2, c: 0.5, d: 4 }) };
    r_pair: (u64, u64) = |n| (n * 3, n * 5 + 1);
    r_pair32: (u32, u32) = |n| (n as u32 * 3, n as u32 * 5 + 1);
    r_pair_bool: (bool, u64) = |n| (n % 2 == 0, n * 3);
    r_pair_float: (f64, u32) = |n| (n as f64 / 2.0 + 0.25, n as u32);
    r_pair_floats: (f64, f64) = |n| (n as f64 / 2.0 + 0.25, n as f64 + 0.5);
    r_triple: (u64, u64, u64) = |n| (n, n + 1, n + 2);
    r_wide: (u128, u64) = |n| ((n as u128) << 66, n + 2);
    r_two: Two = |n| Two { a: n as u32, b: n as u32 * 11 };
    r_two_c: TwoC = |n| TwoC { a: n as u32, b: n as u32 * 17 };
    r_mixed: Mixed = |n| Mixed { a: n as f64 + 0.5, b: n };
    r_floats: Floats = |n| Floats { a: n as f32 + 0.5, b: n as f32 + 0.25 };
    r_doubles: Doubles = |n| Doubles { a: n as f64 + 0.5, b: n as f64 + 0.25 };
    r_three: Three = |n| Three { a: n as u16, b: n as u16 + 1, c: n as u16 * 300 };
    r_bytes: Bytes = |n| Bytes { a: n as u8, b: n as u16 + 1, c: n * 300 };
    r_large: Large = |n| Large { a: n, b: n as u32 + 1, c: n as f64 + 0.5, d: 7 };
    r_meters: Meters = |n| Meters { m: n as f64 + 0.5 };
    r_meters_c: MetersC = |n| MetersC { m: n as f64 + 0.5 };
    r_half: Half = |n| Half { m: n as f32 + 0.5 };
    r_wrap: Wrap = |n| Wrap { w: Two { a: n as u32, b: n as u32 * 13 } };
    r_packed: Packed = |n| Packed { a: n as u32, b: n as u32 * 13 };
    r_aligned: Aligned = |n| Aligned { a: n * 15 };
    r_flags: Flags = |n| Flags { a: n % 2 == 1, b: n as u32 * 3 };
    r_halves: Halves = |n| Halves { a: n as f32 + 0.5, b: n as f32, c: n as f32 + 0.25 };
    r_array: [u32; 3] = |n| [n as u32, n as u32 + 1, n as u32 * 70001];
    r_array4: [u8; 4] = |n| [n as u8, 1, 2, n as u8 * 3];
    r_doubles_array: [f64; 2] = |n| [n as f64 + 0.5, n as f64 + 0.25];
    r_large_array: [u64; 4] = |n| [n, 1, 2, n * 3];
    r_level: Level = |n| match n % 3 { 0 => Level::Low, 1 => Level::Mid, _ => Level::High };
    r_shape: Shape = |n| match n % 4 { 0 => Shape::Circle(n as f64 + 0.5), 1 => Shape::Rect { w: -(n as i32), h: n as i32 * 2 }, 2 => Shape::Unit, _ => Shape::Byte(n as u8) };
    r_unit: () = |n| { any(n); };
}

// What is not used the compiler may not return.
#[inline(never)] fn constant(n: U) -> u64 { any(n); 42 }
#[inline(never)] fn unused(n: U) -> u64 { any(n) * 7 }
#[inline(never)] fn half_used(n: U) -> (u64, u64) { (any(n) + 3, any(n) + 5) }
#[inline(never)] fn always_ok(n: U) -> Result<u64, u64> { Ok(any(n) + 1) }
#[inline(never)] extern "C" fn c_two(n: U) -> TwoC { TwoC { a: any(n) as u32, b: n as u32 * 11 } }
#[inline(never)] extern "C" fn c_meters(n: U) -> MetersC { MetersC { m: any(n) as f64 + 0.5 } }
#[inline(never)] extern "C" fn c_doubles(n: U) -> Doubles { Doubles { a: any(n) as f64 + 0.5, b: any(n + 1) as f64 + 0.25 } }
#[inline(never)] extern "C" fn c_bytes(n: U) -> Bytes { Bytes { a: any(n) as u8, b: 7, c: n * 300 } }

fn main() {
    let mut sum = 0;
    for n in 1..11 {
        all(n);
        let c = constant(n);
        println!("constant {}", c);
        sum += c;
        unused(n);
        let h = half_used(n);
        println!("half_used {{\"__0\":{},\"__1\":{}}}", n + 3, h.1);
        println!("always_ok {{\"Ok\":{{\"__0\":{}}}}}", always_ok(n).unwrap());
        println!("c_two {}", c_two(n).shown());
        println!("c_meters {}", c_meters(n).shown());
        println!("c_doubles {}", c_doubles(n).shown());
        println!("c_bytes {}", c_bytes(n).shown());
    }
    println!("sum {}", sum);
}
