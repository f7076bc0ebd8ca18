// Vectors, slices, arrays and texts by references, boxes and values.
#![allow(clippy::all)]
use std::hint::black_box;

struct Point { x: i32, y: f64 }

#[inline(never)]
fn show(v: &Vec<u32>, names: Vec<String>, points: Vec<Point>, four: &[u8; 4], boxed: Box<Vec<u64>>, rows: &mut Vec<Vec<i8>>, twice: &&Vec<u32>, raw: *const u32) -> usize {
    black_box((&v, &names, &points, &four, &boxed, &rows, &twice, &raw));
    v.len() + points[0].x as usize + points[1].y as usize // look here
}

fn main() {
    let v = vec![1, 2, 3];
    let names = vec!["one".to_string(), "two".to_string()];
    let points = vec![Point { x: 1, y: 0.5 }, Point { x: -2, y: 2.5 }];
    println!("{}", show(&v, names, points, &[7, 8, 9, 10], Box::new(vec![11, 12]), &mut vec![vec![1], vec![2, -3]], &&v, v.as_ptr()));
}
