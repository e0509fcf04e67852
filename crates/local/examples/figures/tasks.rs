//! What the model is asked, and what is right.
//!
//! The tasks marked `Far` are worded unlike any worked example, but the examples were widened while they were
//! looked at. Those marked `Fresh` were not run before the examples and the prompt were final: only they say how
//! the model does with what people will really ask. Examples are not to be written after them.

/// Whether a worked example has the same wording with other names.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wording {
    Near,
    Far,
    Fresh,
}

/// How a task must end.
pub(crate) enum Right {
    /// The answer contains one of the texts between `|` of each entry, in any case of letters.
    Says(&'static [&'static str]),
    /// The file has this content, apart from space around it.
    File(&'static str, &'static str),
    /// Nothing has this name any more.
    Gone(&'static str),
    /// A folder has this name.
    Folder(&'static str),
}

/// One request in a folder of its own.
pub(crate) struct Task {
    pub(crate) wording: Wording,
    pub(crate) request: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// First lines that are right; `*` stands for anything. `final*` means: no tool.
    pub(crate) calls: &'static [&'static str],
    pub(crate) right: Right,
}

use Right::{File, Folder, Gone, Says};
use Wording::{Far, Fresh, Near};

const fn task(
    wording: Wording,
    request: &'static str,
    files: &'static [(&'static str, &'static str)],
    calls: &'static [&'static str],
    right: Right,
) -> Task {
    Task { wording, request, files, calls, right }
}

#[rustfmt::skip]
pub(crate) const TASKS: &[Task] = &[
    task(Near, "Read notes.txt and tell me the launch code.", &[("notes.txt", "Team meeting moved to Friday.\nThe launch code is 7421.\nBuy coffee.\n")], &["read notes.txt"], Says(&["7421"])),
    task(Near, "What port is set in config.json?", &[("config.json", "{\"host\": \"localhost\", \"port\": 8081, \"debug\": false}\n")], &["read config.json"], Says(&["8081"])),
    task(Near, "Who is the author named in README.md?", &[("README.md", "# Sparrow\n\nA tiny web server.\n\nAuthor: Maria Lopez\nLicense: MIT\n")], &["read README.md"], Says(&["Maria Lopez"])),
    task(Near, "How many lines are in data.csv?", &[("data.csv", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n")], &["bash wc -l*data.csv", "bash cat data.csv | wc -l"], Says(&["12"])),
    task(Near, "List the files here.", &[("cow.txt", "x"), ("pig.md", "x"), ("hen.py", "x")], &["bash ls*"], Says(&["cow.txt", "pig.md", "hen.py"])),
    task(Near, "Run hello.py with python3 and tell me what it prints.", &[("hello.py", "print('Good morning, Vienna')\n")], &["bash python3 hello.py"], Says(&["Good morning, Vienna"])),
    task(Near, "Create a file named out.txt with the word done in it.", &[], &["write out.txt done*", "bash echo*out.txt"], File("out.txt", "done")),
    task(Near, "Read secret.txt and tell me what it says.", &[("other.txt", "x")], &["read secret.txt"], Says(&["not exist|no such|cannot|not found|no file"])),
    task(Near, "What is the capital of France?", &[], &["final*"], Says(&["Paris"])),
    task(Near, "Delete tmp.log.", &[("tmp.log", "x")], &["bash rm*tmp.log"], Gone("tmp.log")),
    task(Near, "What version is in package.json?", &[("package.json", "{\n  \"name\": \"swift-otter\",\n  \"version\": \"2.4.1\",\n  \"private\": true\n}\n")], &["read package.json"], Says(&["2.4.1"])),
    task(Near, "What is the first task in todo.md?", &[("todo.md", "- call the dentist\n- fix the bike\n- water the plants\n")], &["read todo.md"], Says(&["dentist"])),
    task(Near, "Replace blue with green in theme.css.", &[("theme.css", "body { color: blue; }\n")], &["edit*theme.css*blue*green*", "bash sed*blue*green*theme.css"], File("theme.css", "body { color: green; }")),
    task(Near, "What is the name of the project in Cargo.toml?", &[("Cargo.toml", "[package]\nname = \"lantern\"\nversion = \"0.3.0\"\nedition = \"2024\"\n")], &["read Cargo.toml"], Says(&["lantern"])),
    task(Near, "Make a folder called backup.", &[], &["bash mkdir*backup"], Folder("backup")),
    task(Near, "Copy a.txt to b.txt.", &[("a.txt", "alpha\n")], &["bash cp a.txt b.txt"], File("b.txt", "alpha")),
    task(Near, "What is the date today?", &[], &["bash date*"], Says(&["202"])),
    task(Near, "Rename old.txt to new.txt.", &[("old.txt", "beta\n")], &["bash mv old.txt new.txt"], File("new.txt", "beta")),
    task(Near, "Find the lines with ERROR in server.log.", &[("server.log", "INFO start\nERROR disk full\nINFO stop\n")], &["bash grep*ERROR*server.log", "read server.log"], Says(&["disk full"])),
    task(Near, "How many words are in essay.txt?", &[("essay.txt", "one two three four five six seven eight nine\n")], &["bash wc -w*essay.txt", "bash cat essay.txt | wc -w"], Says(&["9|nine"])),
    task(Near, "In app.ini, change debug to release.", &[("app.ini", "mode=debug\nname=app\n")], &["edit*app.ini*debug*release*", "bash sed*debug*release*app.ini"], File("app.ini", "mode=release\nname=app")),
    task(Far, "I forgot the wifi password, it should be somewhere in home.txt", &[("home.txt", "Heating: 21 degrees\nWifi password: sunflower99\nAlarm off at 7\n")], &["read home.txt", "bash cat home.txt", "bash grep*home.txt"], Says(&["sunflower99"])),
    task(Far, "Could you have a look at menu.md and say how much the soup costs?", &[("menu.md", "# Menu\n\nSalad 6.00\nSoup 4.50\nFish 12.00\n")], &["read menu.md", "bash cat menu.md", "bash grep*menu.md"], Says(&["4.50"])),
    task(Far, "Which colour does settings.toml use for the background?", &[("settings.toml", "[theme]\nfont = \"mono\"\nbackground = \"navy\"\n")], &["read settings.toml", "bash cat settings.toml", "bash grep*settings.toml"], Says(&["navy"])),
    task(Far, "please get rid of junk.dat", &[("junk.dat", "x")], &["bash rm*junk.dat"], Gone("junk.dat")),
    task(Far, "Count the rows of people.tsv", &[("people.tsv", "1\n2\n3\n4\n5\n6\n7\n")], &["bash wc -l*people.tsv", "bash cat people.tsv | wc -l"], Says(&["7|seven"])),
    task(Far, "What happens when you execute sum.py?", &[("sum.py", "print(sum(range(101)))\n")], &["bash python3 sum.py", "bash python sum.py"], Says(&["5050"])),
    task(Far, "Save the text buy milk to shopping.txt", &[], &["write shopping.txt buy milk*", "bash echo*buy milk*shopping.txt"], File("shopping.txt", "buy milk")),
    task(Far, "I need an empty directory named photos", &[], &["bash mkdir*photos"], Folder("photos")),
    task(Far, "Is there anything about penguins in animals.txt?", &[("animals.txt", "Cats sleep a lot.\nPenguins swim well.\nOwls hunt at night.\n")], &["read animals.txt", "bash cat animals.txt", "bash grep*enguin*animals.txt"], Says(&["swim"])),
    task(Far, "When does the train leave according to trip.txt?", &[("trip.txt", "Platform 6\nTrain leaves 14:35\nArrival 18:02\n")], &["read trip.txt", "bash cat trip.txt", "bash grep*trip.txt"], Says(&["14:35"])),
    task(Far, "Tell me which python is installed", &[], &["bash python3 --version", "bash python3 -V", "bash python --version", "bash which python*"], Says(&["3.|/bin/python"])),
    task(Far, "Show me everything that this directory holds", &[("sun.txt", "x"), ("moon.md", "x")], &["bash ls*"], Says(&["sun.txt", "moon.md"])),
    task(Far, "How large is video.bin?", &[("video.bin", "0123456789012345678901234567890123456789")], &["bash wc -c*video.bin", "bash ls -l*video.bin", "bash du*video.bin", "bash stat*video.bin"], Says(&["40|4.0K|4K"])),
    task(Far, "Please swap the word cat for dog in pets.txt", &[("pets.txt", "I have a cat.\n")], &["edit*pets.txt*cat*dog*", "bash sed*cat*dog*pets.txt"], File("pets.txt", "I have a dog.")),
    task(Far, "Good morning, how are you?", &[], &["final*"], Says(&["a|e|i|o"])),
    task(Far, "Who painted the Mona Lisa?", &[], &["final*"], Says(&["Leonardo|da Vinci"])),
    task(Far, "Put the number 42 into answer.txt", &[], &["write answer.txt 42", "bash echo 42 > answer.txt"], File("answer.txt", "42")),
    task(Far, "Give me the last line of events.txt", &[("events.txt", "Disk checked\nMail sent\nBackup finished\n")], &["bash tail*events.txt", "read events.txt", "bash cat events.txt"], Says(&["Backup finished"])),
    task(Far, "Does a file called budget.xlsx exist in here?", &[("budget.xlsx", "x"), ("tax.pdf", "x")], &["bash ls*", "bash find*", "bash test*", "bash stat*", "read budget.xlsx"], Says(&["yes|exists|budget.xlsx"])),
    task(Fresh, "Hey, what is the telephone number of the bakery? It should be in shops.txt", &[("shops.txt", "Butcher 555-2210\nBakery 555-2231\nFlorist 555-2278\n")], &["read shops.txt", "bash cat shops.txt", "bash grep*shops.txt"], Says(&["555-2231"])),
    task(Fresh, "dump the contents of poem.txt", &[("poem.txt", "Roses are red.\n")], &["read poem.txt", "bash cat poem.txt"], Says(&["Roses are red"])),
    task(Fresh, "Kindly erase temp1.bak", &[("temp1.bak", "x")], &["bash rm*temp1.bak"], Gone("temp1.bak")),
    task(Fresh, "Generate a file greeting.txt whose content is welcome", &[], &["write greeting.txt welcome*", "bash echo*welcome*greeting.txt"], File("greeting.txt", "welcome")),
    task(Fresh, "Tell me the amount of lines inside of log2.txt", &[("log2.txt", "a\nb\nc\nd\ne\n")], &["bash wc -l*log2.txt", "bash cat log2.txt | wc -l"], Says(&["5|five"])),
    task(Fresh, "Duplicate report.md under the name report2.md", &[("report.md", "gamma\n")], &["bash cp*report.md*report2.md"], File("report2.md", "gamma")),
    task(Fresh, "Set up a subfolder assets", &[], &["bash mkdir*assets"], Folder("assets")),
    task(Fresh, "Try out calc.py and give me its result", &[("calc.py", "print(6 * 7)\n")], &["bash python3 calc.py"], Says(&["42"])),
    task(Fresh, "According to team.yaml, who leads the project?", &[("team.yaml", "name: comet\nleader: Sofia Rossi\ntester: Jan\n")], &["read team.yaml", "bash cat team.yaml", "bash grep*team.yaml"], Says(&["Sofia"])),
    task(Fresh, "In letter.txt the name Bob must become Tom", &[("letter.txt", "Dear Bob, hello.\n")], &["edit*letter.txt*Bob*Tom*", "bash sed*Bob*Tom*letter.txt"], File("letter.txt", "Dear Tom, hello.")),
    task(Fresh, "Name the largest ocean on Earth", &[], &["final*"], Says(&["Pacific"])),
    task(Fresh, "bye bye", &[], &["final*"], Says(&["a|e|i|o"])),
    task(Fresh, "How many apples are left according to stock.txt?", &[("stock.txt", "apples: 14\npears: 3\nplums: 25\n")], &["read stock.txt", "bash cat stock.txt", "bash grep*stock.txt"], Says(&["14"])),
    task(Fresh, "Under which account am I working?", &[], &["bash whoami", "bash id*"], Says(&["root|user|runner"])),
];
