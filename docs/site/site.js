// Plays recordings. The player is a part of the site; nothing is fetched from elsewhere.
(() => {
    // Titles of the demonstrations that are recorded (`RECORDED` in `scripts/demonstrations.py`).
    const recorded = [
        "one-call-is-undone-and-the-later-ones-stay",
        "a-session-shows-how-a-change-came-about",
        "a-night-without-questions",
        "other-attempts-begin-only-where-the-first-one-fails",
        "models-are-compared-on-your-own-tasks",
    ];
    for (const id of recorded) {
        const title = document.querySelector(`h2#${id}`);
        if (!title) continue;
        const place = document.createElement("div");
        place.className = "recording";
        place.dataset.recording = `site/recordings/${id}.cast`;
        title.after(place);
    }
    const places = document.querySelectorAll(".recording[data-recording]");
    if (!places.length) return;
    const folder = "site/player/";
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = folder + "asciinema-player.css";
    document.head.append(style);
    const script = document.createElement("script");
    script.src = folder + "asciinema-player.min.js";
    script.onload = () => {
        for (const place of places) {
            place.replaceChildren();
            // Until it is started, a moment that says the most is shown: the end, where the page names none.
            AsciinemaPlayer.create(place.dataset.recording, place, {
                poster: "npt:" + (place.dataset.poster ?? "9:00"),
                fit: "width",
                idleTimeLimit: 2,
                theme: "haft",
                terminalFontFamily: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
            });
        }
    };
    document.head.append(script);
})();
