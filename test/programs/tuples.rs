// Tuples, slices, variants of Rust. See TestRustWords.
struct Q {
    t: (i32, (u8, f64)),
    v: Vec<i32>,
}

enum Shape {
    Circle(f64),
    Rect { w: i32, h: i32 },
    Unit,
}

#[inline(never)]
fn work(p: &Q, s: &str, st: &String, sl: &[u16], o: Option<i32>, q: Option<&Q>, sh: &Shape) -> usize {
    let n = match sh {
        Shape::Circle(r) => *r as usize,
        Shape::Rect { w, h } => (w * h) as usize,
        Shape::Unit => 0,
    };
    n + p.v.len() + s.len() + st.len() + sl.len() + p.t.0 as usize + o.unwrap_or(0) as usize + q.is_some() as usize // look here
}

fn main() {
    let p = Q { t: (1, (2, 3.5)), v: vec![5, 6] };
    println!("{}", work(&p, "abc", &String::from("hello"), &[7, 8], Some(4), Some(&p), &Shape::Rect { w: 2, h: 3 }));
    println!("{}", work(&p, "", &String::new(), &[], None, None, &Shape::Unit));
    println!("{}", work(&p, "é", &String::new(), &[9], None, None, &Shape::Circle(2.5)));
}
