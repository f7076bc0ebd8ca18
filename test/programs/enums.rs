// Enums whose variants hold data: with a tag of their own, and with a niche.
#![allow(dead_code)]

#[derive(Clone)]
enum Shape {
    Circle(f64),
    Rect { w: i32, h: i32 },
    Unit,
    Named(&'static [u8; 2]),
}

enum Big {
    A(u64, u8),
    B(Box<i32>),
    C,
}

#[repr(i8)]
#[derive(Clone, Copy)]
enum Signed {
    Low = -3,
    High = 7,
}

enum Tagged {
    Minus(i64),
    Plus,
}

enum Only {
    One(i32),
}

// The tag is a number of 128 bits in newer compilers.
enum Wide {
    U(u128),
    I(i128),
    Z,
}

// A tag with a sign: a byte in the debug information.
#[repr(i16)]
enum Far {
    Below(i64) = -5,
    Above = 300,
    Last { x: u8 } = 200,
}

#[inline(never)]
fn wider(wide: Wide, far: Far, huge: Option<std::num::NonZeroU128>, done: Result<(), i32>) {
    std::hint::black_box((&wide, &far, &huge, &done)); // wider
}

static COUNT: i32 = 17;

#[inline(never)]
fn look(shape: &Shape, maybe: Option<&i32>, boxed: Option<Box<i32>>, number: Option<u32>, big: Big, level: Signed,
        nested: Option<Option<bool>>, result: Result<i32, u8>, tagged: Tagged, only: Only) -> i32 {
    let pair = (number, COUNT);
    let n = match pair.0 { Some(x) => x as i32, None => 0 };
    std::hint::black_box((shape.clone(), maybe, &boxed, &big, level, nested, result, &tagged, &only, &pair));
    n + pair.1
}

fn main() {
    let five = 5;
    let mut n = look(&Shape::Circle(2.5), Some(&five), Some(Box::new(9)), Some(77), Big::A(10, 3), Signed::Low,
                     Some(Some(true)), Ok(4), Tagged::Minus(-6), Only::One(8));
    n += look(&Shape::Rect { w: 3, h: 4 }, None, None, None, Big::B(Box::new(6)), Signed::High, None, Err(9), Tagged::Plus, Only::One(1));
    n += look(&Shape::Unit, None, None, Some(0), Big::C, Signed::High, Some(None), Err(0), Tagged::Plus, Only::One(2));
    n += look(&Shape::Named(b"ab"), None, None, Some(0), Big::C, Signed::High, Some(Some(false)), Ok(-1), Tagged::Plus, Only::One(3));
    wider(Wide::U(1 << 100), Far::Below(-1), std::num::NonZeroU128::new(1 << 90), Ok(()));
    wider(Wide::I(-2), Far::Above, None, Err(0));
    wider(Wide::Z, Far::Last { x: 7 }, std::num::NonZeroU128::new(3), Ok(()));
    println!("{}", n);
}
