//! What the API says about itself is true.
