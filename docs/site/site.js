// Plays the recording of a page that has one. The player is a part of the site; nothing is fetched from elsewhere.
(() => {
    const place = document.querySelector(".recording[data-recording]");
    if (!place) return;
    const folder = "site/player/";
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = folder + "asciinema-player.css";
    document.head.append(style);
    const script = document.createElement("script");
    script.src = folder + "asciinema-player.min.js";
    script.onload = () => {
        place.replaceChildren();
        // Until it is started, the approval is shown.
        AsciinemaPlayer.create(place.dataset.recording, place, {
            poster: "npt:" + place.dataset.poster,
            fit: "width",
            idleTimeLimit: 2,
            theme: "haft",
            terminalFontFamily: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        });
    };
    document.head.append(script);
})();
