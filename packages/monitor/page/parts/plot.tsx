/** A small plot over the last hour. All plots share one cursor; where it stands, each says its value and the time. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { theme } from '../data/theme.ts';
import { clock } from '../data/words.ts';

const HEIGHT_PX = 92;
const SYNC = 'servers';

export interface PlotProps {
  readonly times: readonly number[];
  readonly lines: readonly (readonly (number | null)[])[];
  /** Drawn across the plot: from here an alert fires. */
  readonly threshold: number | null;
  readonly format: (value: number) => string;
  /** Distances between marks that read well in the figure's unit. */
  readonly steps?: readonly number[];
  /** Grows with each new point: the arrays are changed in place. */
  readonly revision: number;
  /** Values under the cursor, as words; `null` when the cursor has left. */
  readonly onPoint: (words: string | null) => void;
}

/** A colour of the style sheets as a canvas understands it. Only a property of an element has its final value. */
function colour(element: HTMLElement, name: string): string {
  const before = element.style.color;
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = before;
  return color;
}

export function Plot(props: PlotProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const home = element.current;
    if (home === null) return;
    let end = (): void => {};
    let isOver = false;
    // Half of the page's code, and only plots need it.
    void import('uplot').then(({ default: Drawing }) => {
      if (isOver) return;
      const made = new Drawing(optionsFor(home, latest), dataOf(latest.current), home);
      plot.current = made;
      const sizes = new ResizeObserver(() => made.setSize({ width: home.clientWidth, height: HEIGHT_PX }));
      sizes.observe(home);
      end = () => {
        sizes.disconnect();
        plot.current = null;
        made.destroy();
      };
    });
    return () => {
      isOver = true;
      end();
    };
    // A plot knows its colours from the start, so another theme makes another plot.
  }, [theme.value]);
  useEffect(() => {
    plot.current?.setData(dataOf(props));
  }, [props.revision, props.times]);
  return <div class="plot" ref={element} />;
}

function dataOf({ times, lines }: PlotProps): uPlot.AlignedData {
  return [times as number[], ...lines.map((line) => line as (number | null)[])];
}

function optionsFor(home: HTMLElement, latest: { readonly current: PlotProps }): uPlot.Options {
  const ink = colour(home, '--quiet');
  const strokes = [colour(home, '--blue'), colour(home, '--orange')];
  const faint = { stroke: colour(home, '--line'), width: 1 };
  const { format, lines, steps } = latest.current;
  return {
    width: home.clientWidth || 300,
    height: HEIGHT_PX,
    ms: 1,
    padding: [6, 18, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: SYNC }, y: false, points: { size: 5 }, drag: { x: false, y: false } },
    scales: {
      y: {
        range: (_plot, _low, high) => [
          0,
          Math.max((high ?? 0) * 1.1, (latest.current.threshold ?? 0) * 1.05, 0.001),
        ],
      },
    },
    axes: [
      {
        stroke: ink,
        grid: faint,
        ticks: { show: false },
        size: 20,
        font: '11px system-ui',
        space: 70,
        values: (_plot, marks) => marks.map((time) => clock(time).slice(0, 5)),
      },
      {
        stroke: ink,
        grid: faint,
        ticks: { show: false },
        size: 58,
        font: '11px system-ui',
        space: 28,
        values: (_plot, marks) => marks.map(format),
        ...(steps === undefined ? {} : { incrs: [...steps] }),
      },
    ],
    series: [
      {},
      ...lines.map((_line, index) => ({
        stroke: strokes[index] ?? ink,
        width: 1.5,
        // The second line of a plot is dashed too: colour alone says nothing.
        ...(index === 0 ? {} : { dash: [4, 3] }),
        points: { show: false },
      })),
    ],
    hooks: {
      draw: [(plot) => drawThreshold(plot, latest.current.threshold, colour(home, '--orange'))],
      setCursor: [(plot) => latest.current.onPoint(pointWords(plot, latest.current))],
    },
  };
}

function drawThreshold(plot: uPlot, threshold: number | null, stroke: string): void {
  if (threshold === null) return;
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(threshold, 'y', true)) + 0.5;
  if (y < bbox.top) return;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([2, 4]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function pointWords(plot: uPlot, { times, lines, format }: PlotProps): string | null {
  const { idx } = plot.cursor;
  if (idx === null || idx === undefined || (plot.cursor.left ?? -1) < 0) return null;
  const values = lines
    .map((line) => line[idx])
    .map((value) => (value === null || value === undefined ? '–' : format(value)));
  return `${values.join(' / ')} at ${clock(times[idx] ?? 0)}`;
}
