//! Small projects, each with the files that a task declares, its words, and the size in bytes that
//! its map may have.

pub(crate) struct Project {
    pub(crate) name: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) declared: &'static [&'static str],
    pub(crate) task: &'static str,
    pub(crate) bytes: usize,
}

pub(crate) const PROJECTS: &[Project] = &[
    Project {
        name: "rust: what a declared file reaches comes first",
        files: &[
            ("Cargo.toml", "[package]\nname = \"shop\"\n"),
            (
                "src/lib.rs",
                "pub mod cart;\npub mod price;\npub mod unused;\n",
            ),
            (
                "src/cart.rs",
                "use crate::price::{Currency, total_price};\n\n/// A cart.\npub struct Cart {\n    items: Vec<Item>,\n}\n\n\
                 pub struct Item;\n\nimpl Cart {\n    pub fn new() -> Cart {\n        Cart { items: Vec::new() }\n    }\n\n    \
                 pub fn total(&self, currency: Currency) -> u64 {\n        total_price(self.items.len(), currency)\n    }\n\n    \
                 fn secret_discount(&self) -> u64 {\n        0\n    }\n}\n",
            ),
            (
                "src/price.rs",
                "#[derive(Clone, Copy)]\npub enum Currency {\n    Euro,\n    Yen,\n}\n\npub const SMALLEST_PRICE: u64 = 1;\n\n\
                 pub fn total_price(items: usize, currency: Currency) -> u64 {\n    items as u64 * SMALLEST_PRICE\n}\n\n\
                 pub fn rounded(price: u64) -> u64 {\n    price\n}\n",
            ),
            (
                "src/unused.rs",
                "pub fn unrelated_helper() {}\n\npub fn another_unrelated_helper() {}\n",
            ),
        ],
        declared: &["src/cart.rs"],
        task: "Give `Cart` a discount",
        bytes: 220,
    },
    Project {
        name: "python: a name of the task is found where it is declared",
        files: &[
            ("app/__init__.py", ""),
            (
                "app/models.py",
                "class User:\n    \"\"\"A user.\"\"\"\n\n    def __init__(self, name):\n        self.name = name\n\n    \
                 def display_name(self):\n        return self.name\n\n    def _secret_token(self):\n        return 1\n\n\
                 class AuditRecord:\n    def write_record(self):\n        pass\n",
            ),
            (
                "app/views.py",
                "from app.models import User\nfrom app.templates import render_template\n\ndef show_user(request):\n    \
                 return render_template(User(request).display_name())\n",
            ),
            (
                "app/templates.py",
                "def render_template(text):\n    return text\n\ndef render_nothing():\n    pass\n",
            ),
            ("README.md", "# App\n"),
        ],
        declared: &[],
        task: "show_user fails for users without a name",
        bytes: 260,
    },
    Project {
        name: "typescript: files of a pattern, and one that does not exist yet",
        files: &[
            (
                "web/api/client.ts",
                "export interface ClientOptions { url: string }\n\nexport class ApiClient {\n  constructor(private options: \
                 ClientOptions) {}\n  async fetchOrder(id: string): Promise<Order> {\n    return parseOrder(id);\n  }\n}\n",
            ),
            (
                "web/api/orders.ts",
                "export type Order = { id: string };\n\nexport function parseOrder(text: string): Order {\n  return { id: \
                 text };\n}\n",
            ),
            (
                "web/ui/button.tsx",
                "export const Button = (props: { text: string }) => <b>{props.text}</b>;\n",
            ),
            (
                "web/tools/build.js",
                "function buildEverything() {}\nmodule.exports.buildEverything = buildEverything;\n",
            ),
        ],
        declared: &["web/api/*.ts", "web/ui/dialog.tsx"],
        task: "Add a dialog",
        bytes: 400,
    },
    Project {
        name: "go, java, c and shell: whatever has a grammar",
        files: &[
            (
                "cmd/main.go",
                "package main\n\nimport \"example.com/store\"\n\nfunc main() {\n\tstore.OpenStore(\"a\").PutValue(1)\n}\n",
            ),
            (
                "store/store.go",
                "package store\n\ntype Store struct{ path string }\n\nfunc OpenStore(path string) *Store { return &Store{path} }\n\n\
                 func (s *Store) PutValue(value int) error { return nil }\n",
            ),
            (
                "java/Main.java",
                "package shop;\n\npublic class Main {\n    public static void main(String[] arguments) {\n        new \
                 OrderBook().addOrder(1);\n    }\n}\n",
            ),
            (
                "java/OrderBook.java",
                "package shop;\n\nclass OrderBook {\n    int orders;\n\n    void addOrder(int number) {\n        orders += \
                 number;\n    }\n\n    private void checkOrder() {}\n}\n",
            ),
            (
                "native/ring.h",
                "struct ring_buffer { int size; };\nint ring_push(struct ring_buffer *ring, int value);\n",
            ),
            (
                "native/ring.c",
                "#include \"ring.h\"\n\nint ring_push(struct ring_buffer *ring, int value) {\n    return value;\n}\n\nstatic int \
                 ring_internal(void) {\n    return 0;\n}\n",
            ),
            (
                "tools/check.sh",
                "run_checks() {\n    go vet ./...\n}\nrun_checks\n",
            ),
        ],
        declared: &[
            "cmd/main.go",
            "java/Main.java",
            "native/ring.h",
            "tools/check.sh",
        ],
        task: "",
        bytes: 2_000,
    },
    Project {
        name: "nothing that is understood",
        files: &[("README.md", "# Text\n"), ("data/values.csv", "1,2\n")],
        declared: &["README.md"],
        task: "Write more",
        bytes: 400,
    },
];
