//! The cards of the scenes, as they stand in a project's folder.

use serde_json::{Value, json};

use crate::pages::scene::LARGE;

/// A card and where it is to be in the end.
pub(crate) struct Card {
    pub(crate) id: String,
    pub(crate) json: Value,
    /// Where it is to be, when it is started.
    pub(crate) goal: Option<Goal>,
}

/// Where a feature is, as the API says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) status: &'static str,
    pub(crate) work: &'static str,
    pub(crate) is_paused: bool,
}

impl Card {
    pub(crate) fn new(id: &str, title: &str, description: &str) -> Self {
        let json = json!({
            "id": id, "title": title, "description": description, "status": "backlog", "category": "Core",
            "createdAt": "2026-01-09T09:00:00.000Z", "updatedAt": "2026-01-09T09:00:00.000Z",
        });
        Self { id: id.to_owned(), json, goal: None }
    }

    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.json[key] = value;
        self
    }

    /// It is started, and gets there.
    pub(crate) fn ends(mut self, status: &'static str, work: &'static str) -> Self {
        self.goal = Some(Goal { status, work, is_paused: false });
        self
    }

    /// It is started, and a person is waited for there.
    pub(crate) fn waits(mut self, status: &'static str) -> Self {
        self.goal = Some(Goal { status, work: "nothing", is_paused: true });
        self
    }
}

const LONG: &str = "Let people who have ordered before see what they ordered, when it came, what it cost at the time and \
                    what it would cost today, and order all of it again with one click even if parts of it are no longer \
                    sold, in which case say so";

/// A feature in every state.
pub(crate) fn shop() -> Vec<Card> {
    let totals = "Totals are off by a cent now and then.\n\n- the sum must be rounded to the cent\n- a basket can be read \
                  from a text\n- the words of the page stay as they are";
    vec![
        Card::new("checkout-totals", "Round totals to the cent at checkout", totals)
            .with("priority", json!(1))
            .ends("waiting_approval", "nothing"),
        Card::new("export-orders", "Export orders as CSV", "Accounting wants the orders of a month as a file.")
            .with("skipTests", json!(false))
            .ends("verified", "nothing"),
        Card::new("import-catalogue", "Import the catalogue of a supplier", "Suppliers send catalogues in many forms.")
            .with("priority", json!(1))
            .waits("in_progress"),
        Card::new("payment-webhooks", "Take in webhooks of the payment service", "Payments are confirmed by webhook.")
            .waits("code_review"),
        Card::new("address-book", "Keep addresses in one place", "Addresses are known in three places.")
            .ends("in_progress", "implementing"),
        Card::new("gift-cards", "Sell gift cards", "A gift card has a value and can be spent in parts.")
            .ends("code_review", "reviewing"),
        Card::new("live-stock", "Show what is in stock", "Stock changes while somebody looks.")
            .ends("in_progress", "implementing"),
        Card::new("faq-page", "A page for questions that come again", "Support answers the same ten questions.")
            .ends("pipeline_docs", "stepping"),
        Card::new("agent-crash", "Suggest what goes with what", "Who buys a lamp needs a bulb.").waits("in_progress"),
        Card::new("order-search", "Search orders by address", "Needs addresses in one place first.")
            .with("dependencies", json!(["address-book"]))
            .ends("in_progress", "queued"),
        Card::new("order-again", LONG, "Returning customers are the best.")
            .with("category", json!("Customers and their orders")),
        Card::new("arabic", "إضافة سلة التسوق إلى الصفحة الرئيسية", "يجب أن تظهر السلة في كل صفحة.")
            .with("priority", json!(2)),
        Card::new("unbroken", &"Donaudampfschifffahrtsgesellschaft".repeat(5), "One word."),
        Card::new("wish-list", "Wish lists", "- can be shared\n- can be private").with("priority", json!(3)),
        Card::new("sign-in-limit", "Limit how often one can try to sign in", "").with("status", json!("completed")),
        Card::new("https-only", "Only HTTPS", "").with("status", json!("completed")),
        Card::new("broken-card", "Broken", ""),
        Card::new("broken-later", "Pay by invoice", "Companies want to pay by invoice."),
    ]
}

/// One feature.
pub(crate) fn single() -> Vec<Card> {
    vec![Card::new("only", "The only one", "There is nothing else.")]
}

/// A thousand features over all columns, and a large change.
pub(crate) fn large() -> Vec<Card> {
    let columns = ["backlog", "backlog", "backlog", "waiting_approval", "verified", "completed"];
    let card = |index: usize| {
        let title = format!("Feature {index}: something that somebody wants, in so many words");
        let card = Card::new(&format!("feature-{index:04}"), &title, "- it must work\n- it should be fast");
        card.with("status", json!(columns[index % columns.len()])).with("priority", json!(index % 3 + 1))
    };
    let mut cards: Vec<Card> = (1..1000).map(card).collect();
    cards.push(Card::new(LARGE, "A large change", "Generates a lot."));
    cards
}
