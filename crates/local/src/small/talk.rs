//! Worked examples that need no tool.
use haft_core::Example;
use serde_json::Value;
use std::sync::OnceLock;

/// What people ask that no tool can answer better than the model, and its answers.
const TALK: [(&str, &str); 34] = [
    ("Hello!", "Hello! What can I do for you?"),
    ("What is the capital of Peru?", "The capital of Peru is Lima."),
    ("Thank you.", "You are welcome."),
    ("What is 3 plus 4?", "I cannot calculate. Ask me to run a program that can."),
    ("Calculate 12 times 9.", "I cannot calculate. Ask me to run a program that can."),
    ("How much is 80 divided by 5?", "I cannot calculate. Ask me to run a program that can."),
    ("25 minus 8", "I cannot calculate. Ask me to run a program that can."),
    ("Send an email to Ann.", "I cannot send mail. I can read, write and edit files here, and run commands."),
    ("What is the weather in Oslo?", "I cannot look that up. I know only what is in the files here."),
    ("What is in the news?", "I cannot look that up. I know only what is in the files here."),
    (
        "Play a song for me.",
        "I cannot play anything. I can read, write and edit files here, and run commands.",
    ),
    (
        "Buy two tickets to Rome.",
        "I cannot buy anything. I can read, write and edit files here, and run commands.",
    ),
    (
        "Book a table for four.",
        "I cannot book anything. I can read, write and edit files here, and run commands.",
    ),
    (
        "Remind me to call Tom.",
        "I cannot remind you. I can read, write and edit files here, and run commands.",
    ),
    ("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    ("What can you do?", "I can read, write and edit files here, and run commands."),
    (
        "Explain what a compiler does.",
        "A compiler translates source code into instructions that a computer can run.",
    ),
    ("How do you say cheese in French?", "Cheese is fromage in French."),
    ("What is the currency of Japan?", "The currency of Japan is the yen."),
    ("What is the opposite of hot?", "The opposite of hot is cold."),
    ("Who invented the telephone?", "Alexander Graham Bell invented the telephone."),
    ("How many legs does a spider have?", "A spider has eight legs."),
    ("Good evening!", "Good evening! What can I do for you?"),
    ("Which planet is the largest?", "Jupiter is the largest planet."),
    ("When did the Titanic sink?", "The Titanic sank in 1912."),
    ("In what year did Columbus sail to America?", "Columbus sailed to America in 1492."),
    ("Tell me the chemical symbol of gold.", "The chemical symbol of gold is Au."),
    ("Give me the name of the longest river in Africa.", "The longest river in Africa is the Nile."),
    ("How far is the moon?", "The moon is about 384,000 kilometers away."),
    ("Why is the sky blue?", "The sky is blue because air scatters blue light more than red light."),
    ("Where is the Eiffel Tower?", "The Eiffel Tower is in Paris."),
    ("Goodbye!", "Goodbye! See you next time."),
    ("How are you today?", "I am fine, thank you. What can I do for you?"),
    ("Nice work, thanks a lot.", "You are welcome."),
];

/// The same as examples; what concerns a call is empty.
pub(super) fn examples() -> &'static [Example] {
    static EXAMPLES: OnceLock<Vec<Example>> = OnceLock::new();
    let example = |(request, answer): &(&str, &str)| Example::new(request, Value::Null, "", answer);
    EXAMPLES.get_or_init(|| TALK.iter().map(example).collect())
}
