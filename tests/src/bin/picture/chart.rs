//! The drawings. Their colours are legible on a light and on a dark page, and the ink follows the page.

use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::runs::{CLIENTS, SECONDS, ScaleUp, SlowStart, Spread, WINDOW};

const INK: RGBColor = RGBColor(31, 35, 40);
const FAINT: RGBColor = RGBColor(140, 149, 159);
const BLUE: RGBColor = RGBColor(47, 129, 247);
const ORANGE: RGBColor = RGBColor(219, 109, 40);
const GREEN: RGBColor = RGBColor(63, 152, 80);
/// Style for dark pages, with light ink.
const DARK: &str = r##"<style>@media (prefers-color-scheme: dark) { [fill="#1F2328"] { fill: #e6edf3 } }</style>"##;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Bars of each algorithm.
pub(crate) fn spread(spreads: &[Spread]) -> Result<String> {
    let most = spreads
        .iter()
        .flat_map(|spread| &spread.pods)
        .copied()
        .max()
        .unwrap_or(1) as f64;
    picture((900, 500), |root| {
        heading(
            root,
            "Requests per pod: 3000 requests for 600 paths, 12 at a time; the last pod is ten times slower",
        )?;
        for (panel, spread) in root
            .margin(40, 10, 10, 10)
            .split_evenly((2, 4))
            .iter()
            .zip(spreads)
        {
            let bars = Bars {
                title: spread.title,
                most,
                note: String::new(),
            };
            let slow = spread.pods.len() - 1;
            let colour = |pod: usize| if pod == slow { ORANGE } else { BLUE };
            bars.draw(panel, &[(&spread.pods, &colour)])?;
        }
        Ok(())
    })
}

/// Pairs of bars: before and after.
pub(crate) fn scale_up(runs: &[ScaleUp]) -> Result<String> {
    let all = runs
        .iter()
        .flat_map(|run| run.before.iter().chain(&run.after));
    let most = all.copied().max().unwrap_or(1) as f64;
    picture((900, 290), |root| {
        heading(
            root,
            &format!(
                "{CLIENTS} clients come again after a sixth pod: before (grey) and after (blue)"
            ),
        )?;
        for (panel, run) in root
            .margin(40, 10, 10, 10)
            .split_evenly((1, 4))
            .iter()
            .zip(runs)
        {
            let note = format!("{:.0} % moved", run.moved as f64 / CLIENTS as f64 * 100.0);
            let bars = Bars {
                title: run.title,
                most,
                note,
            };
            bars.draw(panel, &[(&run.before, &|_| FAINT), (&run.after, &|_| BLUE)])?;
        }
        Ok(())
    })
}

/// Curves of a pod's share.
pub(crate) fn slow_start(runs: &[SlowStart]) -> Result<String> {
    picture((900, 330), |root| {
        heading(
            root,
            &format!("Share of a fourth pod by seconds since it came; slow start of {WINDOW} s"),
        )?;
        let plot = plane(root, (60, 250), (50, 30), 0.0..f64::from(SECONDS), 0.0..0.4);
        for tenth in 0..=4 {
            let share = f64::from(tenth) / 10.0;
            line(
                &plot,
                &[(0.0, share), (f64::from(SECONDS), share)],
                &FAINT.mix(0.4),
                1,
            )?;
            text(
                &plot,
                &format!("{} %", tenth * 10),
                (-0.15, share),
                (HPos::Right, VPos::Center),
                12,
            )?;
        }
        for second in (0..=SECONDS).step_by(2) {
            text(
                &plot,
                &format!("{second} s"),
                (second.into(), -0.012),
                (HPos::Center, VPos::Top),
                12,
            )?;
        }
        for (n, (run, colour)) in runs.iter().zip([FAINT, BLUE, GREEN]).enumerate() {
            line(&plot, &run.shares, &colour, 2)?;
            let y = 0.34 - 0.045 * n as f64;
            let (from, to) = (f64::from(SECONDS) + 0.3, f64::from(SECONDS) + 0.8);
            line(&plot, &[(from, y), (to, y)], &colour, 3)?;
            text(
                &plot,
                run.title,
                (to + 0.15, y),
                (HPos::Left, VPos::Center),
                13,
            )?;
        }
        Ok(())
    })
}

struct Bars<'a> {
    title: &'a str,
    most: f64,
    note: String,
}

/// Values of pods, and the colour of each.
type Series<'a> = (&'a [u64], &'a dyn Fn(usize) -> RGBColor);

impl Bars<'_> {
    fn draw(&self, panel: &Area<'_>, series: &[Series<'_>]) -> Result<()> {
        let pods = series.first().map_or(0, |(values, _)| values.len());
        let plot = plane(
            panel,
            (12, 12),
            (34, 26),
            0.0..pods as f64,
            0.0..self.most * 1.12,
        );
        let middle = pods as f64 / 2.0;
        text(
            &plot,
            self.title,
            (middle, self.most * 1.2),
            (HPos::Center, VPos::Bottom),
            15,
        )?;
        text(
            &plot,
            &self.note,
            (middle, self.most * 1.06),
            (HPos::Center, VPos::Center),
            12,
        )?;
        let width = 0.8 / series.len() as f64;
        for (n, (values, colour)) in series.iter().enumerate() {
            for (pod, value) in values.iter().enumerate() {
                let left = pod as f64 + 0.1 + n as f64 * width;
                let corners = [(left, 0.0), (left + width * 0.94, *value as f64)];
                plot.draw(&Rectangle::new(corners, colour(pod).filled()))
                    .map_err(failed)?;
                if series.len() == 1 {
                    let above = (pod as f64 + 0.5, *value as f64 + self.most * 0.015);
                    text(
                        &plot,
                        &value.to_string(),
                        above,
                        (HPos::Center, VPos::Bottom),
                        10,
                    )?;
                }
            }
        }
        line(&plot, &[(0.0, 0.0), (pods as f64, 0.0)], &FAINT, 1)?;
        for pod in 0..pods {
            let below = (pod as f64 + 0.5, -self.most * 0.02);
            text(
                &plot,
                &format!("{pod}"),
                below,
                (HPos::Center, VPos::Top),
                11,
            )?;
        }
        Ok(())
    }
}

fn picture(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&root)?;
        root.present().map_err(failed)?;
    }
    let end_of_tag = svg
        .find("<svg")
        .and_then(|start| Some(start + svg[start..].find('>')? + 1));
    let at = end_of_tag.ok_or_else(|| anyhow!("no <svg> was drawn"))?;
    svg.insert_str(at, DARK);
    Ok(svg)
}

fn heading(root: &Area<'_>, words: &str) -> Result<()> {
    let style = style(15, (HPos::Left, VPos::Top));
    root.draw(&Text::new(words.to_owned(), (20, 12), style))
        .map_err(failed)
}

/// The part of an area within margins (left, right) and (top, bottom), with its coordinates.
fn plane<'a>(
    area: &Area<'a>,
    (left, right): (i32, i32),
    (top, bottom): (i32, i32),
    x: Range<f64>,
    y: Range<f64>,
) -> Plot<'a> {
    let (width, height) = area.dim_in_pixel();
    let (ox, oy) = area.get_base_pixel();
    let horizontal = ox + left..ox + i32::try_from(width).unwrap_or(0) - right;
    let vertical = oy + top..oy + i32::try_from(height).unwrap_or(0) - bottom;
    area.apply_coord_spec(Cartesian2d::<RangedCoordf64, RangedCoordf64>::new(
        x,
        y.end..y.start,
        (horizontal, vertical),
    ))
}

fn line(plot: &Plot<'_>, points: &[(f64, f64)], colour: &impl Color, width: u32) -> Result<()> {
    let style = ShapeStyle {
        color: colour.to_rgba(),
        filled: false,
        stroke_width: width,
    };
    plot.draw(&PathElement::new(points.to_vec(), style))
        .map_err(failed)
}

fn text(
    plot: &Plot<'_>,
    words: &str,
    at: (f64, f64),
    (h, v): (HPos, VPos),
    size: i32,
) -> Result<()> {
    plot.draw(&Text::new(words.to_owned(), at, style(size, (h, v))))
        .map_err(failed)
}

fn style(size: i32, (h, v): (HPos, VPos)) -> TextStyle<'static> {
    ("system-ui, sans-serif", size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(h, v))
}

/// An error of plotters, without the lifetime of its canvas.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
