//! [`sequence`]: encodes pictures as sixels: bands of six rows of pixels, one color after the other (DEC STD 070,
//! chapter 9).
use std::{fmt::Write, io::Cursor};

/// Levels of red, green and blue; the resulting 216 colors fit into the 256 that every such terminal has.
const COLOR_LEVELS: usize = 6;
/// Rows of pixels in a band.
const BAND_ROWS: usize = 6;
/// Thresholds of ordered dithering: where a level is rounded up, so that neighboring pixels mix to a value between two
/// levels (Bayer, 1973).
const DITHER_PATTERN: [[usize; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];

/// A picture: red, green, blue and alpha of each pixel.
struct Pixels {
    wide: usize,
    high: usize,
    data: Vec<u8>,
}

/// The sequence that draws a PNG scaled to this size in pixels; `None` if it cannot be read.
pub(super) fn sequence(png: &[u8], (wide, high): (usize, usize)) -> Option<String> {
    let pixels = read(png)?;
    let colors: Vec<Option<usize>> = (0..high)
        .flat_map(|y| (0..wide).map(move |x| (x, y)))
        .map(|at| color(&pixels, at, (wide, high)))
        .collect();
    let mut text = format!("\x1bP0;1q\"1;1;{wide};{high}");
    for (place, _) in used(&colors).iter().enumerate().filter(|(_, is_used)| **is_used) {
        let [red, green, blue] = [
            place / (COLOR_LEVELS * COLOR_LEVELS),
            place / COLOR_LEVELS % COLOR_LEVELS,
            place % COLOR_LEVELS,
        ];
        let percent = |level: usize| level * 100 / (COLOR_LEVELS - 1);
        let _a_string_takes_all =
            write!(text, "#{place};2;{};{};{}", percent(red), percent(green), percent(blue));
    }
    for (place, band) in colors.chunks(wide * BAND_ROWS).enumerate() {
        if place > 0 {
            text.push('-');
        }
        for (place, _) in used(band).iter().enumerate().filter(|(_, is_used)| **is_used) {
            let _a_string_takes_all = write!(text, "#{place}");
            row(&mut text, band, wide, place);
            text.push('$');
        }
    }
    Some(text + "\x1b\\")
}

fn read(png: &[u8]) -> Option<Pixels> {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().ok()?;
    let mut data = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut data).ok()?;
    data.truncate(frame.buffer_size());
    let data = match frame.color_type {
        png::ColorType::Rgba => data,
        png::ColorType::GrayscaleAlpha => {
            data.chunks_exact(2).flat_map(|pixel| [pixel[0], pixel[0], pixel[0], pixel[1]]).collect()
        }
        _ => return None,
    };
    Some(Pixels { wide: frame.width as usize, high: frame.height as usize, data })
}

/// The color of a pixel of the scaled picture; `None` if it is transparent.
fn color(pixels: &Pixels, (x, y): (usize, usize), (wide, high): (usize, usize)) -> Option<usize> {
    let span = |at: usize, new: usize, old: usize| {
        let from = at * old / new;
        from..((at + 1) * old / new).max(from + 1).min(old)
    };
    let (mut sums, mut count) = ([0_usize; 4], 0);
    for row in span(y, high, pixels.high) {
        for column in span(x, wide, pixels.wide) {
            let at = (row * pixels.wide + column) * 4;
            let pixel = pixels.data.get(at..at + 4)?;
            sums.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += usize::from(*part));
            count += 1;
        }
    }
    let [red, green, blue, opaque] = sums.map(|sum| sum / count.max(1));
    let threshold = DITHER_PATTERN[y % 4][x % 4] * 255 / 16;
    let level = |part: usize| (part * (COLOR_LEVELS - 1) + threshold) / 255;
    (opaque >= 128).then(|| (level(red) * COLOR_LEVELS + level(green)) * COLOR_LEVELS + level(blue))
}

fn used(colors: &[Option<usize>]) -> [bool; COLOR_LEVELS * COLOR_LEVELS * COLOR_LEVELS] {
    let mut used = [false; COLOR_LEVELS * COLOR_LEVELS * COLOR_LEVELS];
    colors.iter().flatten().for_each(|color| used[*color] = true);
    used
}

/// Draws one color of a band: six bits for each column, with run lengths.
fn row(text: &mut String, band: &[Option<usize>], wide: usize, color: usize) {
    let sixel = |column: usize| {
        let bits = band.iter().skip(column).step_by(wide).enumerate();
        let bits: u8 = bits.map(|(row, found)| u8::from(*found == Some(color)) << row).sum();
        char::from(b'?' + bits)
    };
    let mut column = 0;
    while column < wide {
        let sign = sixel(column);
        let count = (column..wide).take_while(|next| sixel(*next) == sign).count();
        match count {
            1..4 => text.extend(std::iter::repeat_n(sign, count)),
            _ => {
                let _a_string_takes_all = write!(text, "!{count}{sign}");
            }
        }
        column += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(wide: u32, high: u32, color: png::ColorType, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, wide, high);
        encoder.set_color(color);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    #[test]
    fn each_band_has_its_colors_one_after_the_other() {
        // Red above, clear below, in 5×7 pixels: the second band is empty.
        let red = png(1, 2, png::ColorType::Rgba, &[255, 0, 0, 255, 0, 0, 0, 0]);
        let drawn = "\x1bP0;1q\"1;1;5;8#180;2;100;0;0#180!5N$-\x1b\\";
        assert_eq!(sequence(&red, (5, 8)).as_deref(), Some(drawn));
        let two = png(2, 1, png::ColorType::Rgb, &[0, 0, 0, 255, 255, 255]);
        let drawn = "\x1bP0;1q\"1;1;2;1#0;2;0;0;0#215;2;100;100;100#0@?$#215?@$\x1b\\";
        assert_eq!(sequence(&two, (2, 1)).as_deref(), Some(drawn));
        let gray = png(1, 1, png::ColorType::Grayscale, &[0]);
        assert!(sequence(&gray, (1, 1)).is_some_and(|drawn| drawn.contains("#0;2;0;0;0#0@$\x1b")));
    }

    #[test]
    fn what_is_no_picture_is_not_drawn() {
        let whole = png(1, 1, png::ColorType::Grayscale, &[0]);
        for bad in [&b"GIF89a"[..], b"", &whole[..40]] {
            assert_eq!(sequence(bad, (1, 1)), None, "{bad:?}");
        }
    }
}
