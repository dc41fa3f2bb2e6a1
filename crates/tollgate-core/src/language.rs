//! Detects programming languages by file name.
//!
//! Only the name counts: `Dockerfile`, `*.tsx`, `.bashrc`. Content such as a shebang is ignored. The tables are `match`es,
//! so nothing is built at startup.

macro_rules! languages {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $fence:literal;)*) => {
        /// A programming, markup or data language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language { $($(#[$doc])* $variant,)* }

        impl Language {
            /// All languages.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The display name, e.g. `TypeScript`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The tag of a Markdown code fence, e.g. `typescript`.
            #[must_use]
            pub fn fence(self) -> &'static str {
                match self { $(Self::$variant => $fence,)* }
            }
        }
    };
}

languages! {
    /// Assembly of any machine.
    Assembly, "Assembly", "asm";
    /// Bash and other shells of its family.
    Bash, "Shell", "bash";
    /// Windows batch files.
    Batch, "Batch", "batch";
    /// Bazel and Starlark.
    Starlark, "Starlark", "starlark";
    /// C.
    C, "C", "c";
    /// C++.
    Cpp, "C++", "cpp";
    /// C#.
    CSharp, "C#", "csharp";
    /// Clojure.
    Clojure, "Clojure", "clojure";
    /// CMake.
    CMake, "CMake", "cmake";
    /// CSS.
    Css, "CSS", "css";
    /// CSV and its like.
    Csv, "CSV", "csv";
    /// CUDA.
    Cuda, "CUDA", "cuda";
    /// Dart.
    Dart, "Dart", "dart";
    /// Docker's build files.
    Dockerfile, "Dockerfile", "dockerfile";
    /// Elixir.
    Elixir, "Elixir", "elixir";
    /// Elm.
    Elm, "Elm", "elm";
    /// Erlang.
    Erlang, "Erlang", "erlang";
    /// F#.
    FSharp, "F#", "fsharp";
    /// Fortran.
    Fortran, "Fortran", "fortran";
    /// Go.
    Go, "Go", "go";
    /// GraphQL.
    GraphQl, "GraphQL", "graphql";
    /// Groovy, and Gradle in it.
    Groovy, "Groovy", "groovy";
    /// Haskell.
    Haskell, "Haskell", "haskell";
    /// HashiCorp's language, Terraform above all.
    Hcl, "HCL", "hcl";
    /// HTML.
    Html, "HTML", "html";
    /// `key = value` files in sections.
    Ini, "INI", "ini";
    /// Java.
    Java, "Java", "java";
    /// JavaScript.
    JavaScript, "JavaScript", "javascript";
    /// JavaScript with markup in it.
    Jsx, "JSX", "jsx";
    /// JSON, with comments or without.
    Json, "JSON", "json";
    /// Julia.
    Julia, "Julia", "julia";
    /// Jupyter notebooks.
    Jupyter, "Jupyter Notebook", "json";
    /// Kotlin.
    Kotlin, "Kotlin", "kotlin";
    /// Less.
    Less, "Less", "less";
    /// Lua.
    Lua, "Lua", "lua";
    /// Make.
    Makefile, "Makefile", "makefile";
    /// Markdown.
    Markdown, "Markdown", "markdown";
    /// Nix.
    Nix, "Nix", "nix";
    /// Objective-C.
    ObjectiveC, "Objective-C", "objectivec";
    /// `OCaml`.
    OCaml, "OCaml", "ocaml";
    /// Perl.
    Perl, "Perl", "perl";
    /// PHP.
    Php, "PHP", "php";
    /// `PowerShell`.
    PowerShell, "PowerShell", "powershell";
    /// Protocol buffers.
    Protobuf, "Protocol Buffers", "protobuf";
    /// Python.
    Python, "Python", "python";
    /// R.
    R, "R", "r";
    /// `reStructuredText`.
    Rst, "reStructuredText", "rst";
    /// Ruby.
    Ruby, "Ruby", "ruby";
    /// Rust.
    Rust, "Rust", "rust";
    /// Sass, both ways of writing it.
    Scss, "SCSS", "scss";
    /// Scala.
    Scala, "Scala", "scala";
    /// Solidity.
    Solidity, "Solidity", "solidity";
    /// SQL.
    Sql, "SQL", "sql";
    /// Svelte.
    Svelte, "Svelte", "svelte";
    /// Swift.
    Swift, "Swift", "swift";
    /// Text without a language.
    Text, "Text", "text";
    /// TeX.
    Tex, "TeX", "tex";
    /// TOML.
    Toml, "TOML", "toml";
    /// TypeScript with markup in it.
    Tsx, "TSX", "tsx";
    /// TypeScript.
    TypeScript, "TypeScript", "typescript";
    /// Visual Basic.
    VisualBasic, "Visual Basic", "vbnet";
    /// Vue.
    Vue, "Vue", "vue";
    /// XML.
    Xml, "XML", "xml";
    /// YAML.
    Yaml, "YAML", "yaml";
    /// Zig.
    Zig, "Zig", "zig";
}

/// The longest known extension.
const MAX_ENDING: usize = 12;

impl Language {
    /// True for a language in which programs are written, as opposed to data, text, markup, styles and build
    /// descriptions, of which a review by text has seen what there is to see.
    #[must_use]
    pub fn is_program(self) -> bool {
        match self {
            Self::Assembly
            | Self::Bash
            | Self::Batch
            | Self::C
            | Self::Cpp
            | Self::CSharp
            | Self::Clojure
            | Self::Cuda
            | Self::Dart
            | Self::Elixir
            | Self::Elm
            | Self::Erlang
            | Self::FSharp
            | Self::Fortran
            | Self::Go
            | Self::Groovy
            | Self::Haskell
            | Self::Java
            | Self::JavaScript
            | Self::Jsx
            | Self::Julia
            | Self::Kotlin
            | Self::Lua
            | Self::ObjectiveC
            | Self::OCaml
            | Self::Perl
            | Self::Php
            | Self::PowerShell
            | Self::Python
            | Self::R
            | Self::Ruby
            | Self::Rust
            | Self::Scala
            | Self::Solidity
            | Self::Swift
            | Self::Tsx
            | Self::TypeScript
            | Self::VisualBasic
            | Self::Zig => true,
            // Rules read the scripts in these, and the text of the rest.
            Self::Html | Self::Jupyter | Self::Svelte | Self::Vue => false,
            Self::Starlark
            | Self::CMake
            | Self::Css
            | Self::Csv
            | Self::Dockerfile
            | Self::GraphQl
            | Self::Hcl
            | Self::Ini
            | Self::Json
            | Self::Less
            | Self::Makefile
            | Self::Markdown
            | Self::Nix
            | Self::Protobuf
            | Self::Rst
            | Self::Scss
            | Self::Sql
            | Self::Text
            | Self::Tex
            | Self::Toml
            | Self::Xml
            | Self::Yaml => false,
        }
    }

    /// Detects the language of a file by its path.
    #[must_use]
    pub fn of_path(path: &[u8]) -> Option<Self> {
        let name = file_name(path);
        of_name(name).or_else(|| {
            let mut buffer = [0; MAX_ENDING];
            of_ending(lower_ending(name, &mut buffer)?)
        })
    }
}

/// The file name of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])
}

/// The extension of a file name in lower case; `None` when there is none or it is too long.
pub(crate) fn lower_ending<'a>(name: &[u8], buffer: &'a mut [u8; MAX_ENDING]) -> Option<&'a [u8]> {
    let dot = memchr::memrchr(b'.', name)?;
    let ending = &name[dot + 1..];
    let lower = buffer.get_mut(..ending.len())?;
    lower.copy_from_slice(ending);
    lower.make_ascii_lowercase();
    Some(lower)
}

fn of_name(name: &[u8]) -> Option<Language> {
    Some(match name {
        b"Dockerfile" | b"Containerfile" | b"dockerfile" => Language::Dockerfile,
        b"Makefile" | b"makefile" | b"GNUmakefile" | b"Kbuild" | b"justfile" | b"Justfile" => Language::Makefile,
        b"CMakeLists.txt" => Language::CMake,
        b"Gemfile" | b"Rakefile" | b"Guardfile" | b"Podfile" | b"Fastfile" | b"Vagrantfile" | b"Brewfile"
        | b"Capfile" | b"Dangerfile" => Language::Ruby,
        b"Jenkinsfile" => Language::Groovy,
        b"BUILD" | b"WORKSPACE" | b"Tiltfile" => Language::Starlark,
        b"Pipfile" | b"Cargo.lock" | b"poetry.lock" | b"uv.lock" | b"Pipfile.lock" => Language::Toml,
        b"composer.lock" | b".babelrc" | b".eslintrc" | b".prettierrc" | b".swcrc" => Language::Json,
        b"yarn.lock" | b".clang-format" | b".clang-tidy" => Language::Yaml,
        b".bashrc" | b".bash_profile" | b".profile" | b".zshrc" | b".zshenv" | b".envrc" | b"configure"
        | b"gradlew" | b"PKGBUILD" => Language::Bash,
        b".editorconfig" | b".gitconfig" | b".gitmodules" | b".npmrc" | b".pylintrc" | b".flake8" => Language::Ini,
        b"README" | b"LICENSE" | b"COPYING" | b"NOTICE" | b"AUTHORS" | b"CHANGELOG" => Language::Text,
        _ if name.starts_with(b"Dockerfile.") || name.starts_with(b"Containerfile.") => Language::Dockerfile,
        _ => return None,
    })
}

fn of_ending(ending: &[u8]) -> Option<Language> {
    Some(match ending {
        b"rs" => Language::Rust,
        b"py" | b"pyi" | b"pyw" | b"pyx" => Language::Python,
        b"js" | b"mjs" | b"cjs" => Language::JavaScript,
        b"jsx" => Language::Jsx,
        b"ts" | b"mts" | b"cts" => Language::TypeScript,
        b"tsx" => Language::Tsx,
        b"go" => Language::Go,
        b"java" => Language::Java,
        b"kt" | b"kts" => Language::Kotlin,
        b"c" | b"h" => Language::C,
        b"cc" | b"cpp" | b"cxx" | b"c++" | b"hpp" | b"hh" | b"hxx" | b"h++" | b"ipp" | b"inl" | b"tpp" => Language::Cpp,
        b"cs" | b"csx" | b"cshtml" | b"razor" => Language::CSharp,
        b"rb" | b"erb" | b"rake" | b"gemspec" | b"ru" => Language::Ruby,
        b"php" | b"phtml" | b"php5" => Language::Php,
        b"sh" | b"bash" | b"zsh" | b"ksh" | b"bats" | b"fish" => Language::Bash,
        b"yml" | b"yaml" => Language::Yaml,
        b"dockerfile" | b"containerfile" => Language::Dockerfile,
        b"tf" | b"tfvars" | b"hcl" | b"nomad" => Language::Hcl,
        b"sql" | b"psql" | b"pgsql" | b"plsql" | b"ddl" => Language::Sql,
        b"json" | b"jsonc" | b"json5" | b"jsonl" | b"ndjson" | b"geojson" | b"webmanifest" | b"sarif" => Language::Json,
        b"toml" => Language::Toml,
        b"md" | b"markdown" | b"mdx" | b"mkd" => Language::Markdown,
        b"html" | b"htm" | b"xhtml" | b"hbs" | b"ejs" | b"j2" | b"jinja" | b"jinja2" => Language::Html,
        b"css" | b"pcss" => Language::Css,
        b"scss" | b"sass" => Language::Scss,
        b"less" => Language::Less,
        b"vue" => Language::Vue,
        b"svelte" | b"astro" => Language::Svelte,
        b"swift" => Language::Swift,
        b"scala" | b"sc" | b"sbt" => Language::Scala,
        b"groovy" | b"gradle" | b"gvy" => Language::Groovy,
        b"m" | b"mm" => Language::ObjectiveC,
        b"dart" => Language::Dart,
        b"lua" => Language::Lua,
        b"pl" | b"pm" | b"t" => Language::Perl,
        b"r" | b"rmd" => Language::R,
        b"jl" => Language::Julia,
        b"ex" | b"exs" | b"heex" | b"eex" => Language::Elixir,
        b"erl" | b"hrl" => Language::Erlang,
        b"hs" | b"lhs" => Language::Haskell,
        b"ml" | b"mli" => Language::OCaml,
        b"fs" | b"fsi" | b"fsx" => Language::FSharp,
        b"clj" | b"cljs" | b"cljc" | b"edn" => Language::Clojure,
        b"elm" => Language::Elm,
        b"zig" | b"zon" => Language::Zig,
        b"nix" => Language::Nix,
        b"sol" => Language::Solidity,
        b"cu" | b"cuh" => Language::Cuda,
        b"f90" | b"f95" | b"f03" | b"f" | b"for" => Language::Fortran,
        b"s" | b"asm" | b"nasm" => Language::Assembly,
        b"vb" | b"vbs" | b"bas" => Language::VisualBasic,
        b"ps1" | b"psm1" | b"psd1" => Language::PowerShell,
        b"bat" | b"cmd" => Language::Batch,
        b"proto" => Language::Protobuf,
        b"graphql" | b"gql" | b"graphqls" => Language::GraphQl,
        b"cmake" => Language::CMake,
        b"mk" | b"mak" => Language::Makefile,
        b"bzl" | b"bazel" | b"star" => Language::Starlark,
        b"xml" | b"xsd" | b"xsl" | b"xslt" | b"svg" | b"plist" | b"csproj" | b"fsproj" | b"vbproj" | b"props"
        | b"targets" | b"resx" | b"xaml" | b"storyboard" | b"xib" => Language::Xml,
        b"ini" | b"cfg" | b"conf" | b"properties" | b"env" | b"service" => Language::Ini,
        b"tex" | b"sty" | b"bib" => Language::Tex,
        b"rst" => Language::Rst,
        b"adoc" | b"asciidoc" | b"txt" | b"text" | b"log" => Language::Text,
        b"csv" | b"tsv" => Language::Csv,
        b"ipynb" => Language::Jupyter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let shown = Language::of_path(path.as_bytes())
            .map_or_else(|| "none".to_owned(), |language| format!("{} ```{}", language.name(), language.fence()));
        assert_eq!(shown, expected, "{path}");
    }

    #[test]
    fn extensions_determine_the_language() {
        check("src/a.rs", "Rust ```rust");
        check("a.ts", "TypeScript ```typescript");
        check("a.tsx", "TSX ```tsx");
        check("types/a.d.ts", "TypeScript ```typescript");
        check("a.py", "Python ```python");
        check("a.cs", "C# ```csharp");
        check("a.h", "C ```c");
        check("A.CPP", "C++ ```cpp");
        check("x/main.tf", "HCL ```hcl");
        check("run.sh", "Shell ```bash");
    }

    #[test]
    fn well_known_names_determine_the_language() {
        check("docker/Dockerfile", "Dockerfile ```dockerfile");
        check("Dockerfile.dev", "Dockerfile ```dockerfile");
        check("Gemfile", "Ruby ```ruby");
        check("CMakeLists.txt", "CMake ```cmake");
        check(".bashrc", "Shell ```bash");
    }

    #[test]
    fn other_names_have_no_language() {
        for path in ["", "a", "a.", ".rs/a", "a.b/c", "x.verylongending", "\u{fffd}", "rs"] {
            check(path, "none");
        }
    }

    #[test]
    fn display_names_are_unique() {
        let mut names: Vec<_> = Language::ALL.iter().map(|language| language.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Language::ALL.len());
    }
}
