//! Every screen, as it looks.

use crate::pages::scene::{Large, Scene};

#[test]
fn scenes_are_made() {
    let begun = std::time::Instant::now();
    Scene::get();
    println!("scene {:?}", begun.elapsed());
    Large::get();
    println!("large {:?}", begun.elapsed());
}
