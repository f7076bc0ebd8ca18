// Work of a Rust program with deep and varied stacks, interrupted by a timer.
use std::collections::{BTreeMap, HashMap};

extern "C" {
    fn setitimer(which: i32, new: *const [i64; 4], old: *mut [i64; 4]) -> i32;
}

enum Expr {
    Number(f64),
    Sum(Vec<Expr>),
    Product(Box<Expr>, Box<Expr>),
}

#[inline(never)]
fn make(depth: u32) -> Expr {
    match depth {
        0 => Expr::Number(1.5),
        d if d % 2 == 0 => Expr::Sum((0..2).map(|i| make(d - 1 - i.min(d - 1))).collect()),
        d => Expr::Product(Box::new(make(d - 1)), Box::new(Expr::Number(d as f64))),
    }
}

#[inline(never)]
fn value(e: &Expr) -> f64 {
    match e {
        Expr::Number(n) => *n,
        Expr::Sum(list) => list.iter().map(value).sum(),
        Expr::Product(a, b) => value(a) * value(b),
    }
}

#[inline(never)]
fn words(n: u32) -> usize {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for i in 0..n {
        *counts.entry(format!("{:x}-{:?}", i * 7919 % n, i as f64 / 3.0)).or_default() += 1;
    }
    let sorted: BTreeMap<&String, &u32> = counts.iter().collect();
    let mut list: Vec<_> = sorted.into_iter().collect();
    list.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(b.0)));
    list.iter().map(|(w, _)| w.to_uppercase().len()).sum()
}

fn main() {
    let often = [0i64, 500, 0, 500];
    unsafe { setitimer(2, &often, std::ptr::null_mut()) };
    let mut total = 0.0;
    loop {
        total += value(&make(16)) + words(200) as f64;
        if total < 0.0 {
            break;
        }
    }
}
