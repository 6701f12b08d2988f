import "./bar_chart.css";

interface Bar {
  key: string;
  /** What the bar is of, such as a day. */
  label: string;
  value: number;
  /** The value as people read it. */
  text: string;
}

interface BarChartProps {
  label: string;
  bars: readonly Bar[];
  /** The key of the bar that is chosen. */
  chosen?: string;
  /** Without it the bars cannot be chosen. */
  onChoose?: (key: string) => void;
}

/** Vertical bars, each with its label and value as its name; buttons where they can be chosen. */
export function BarChart({ label, bars, chosen, onChoose }: BarChartProps) {
  const most = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <figure class="bar-chart" aria-label={label} role="group">
      <div class="bar-chart-bars">
        {bars.map((bar) =>
          onChoose ? (
            <button
              key={bar.key}
              type="button"
              title={`${bar.label}: ${bar.text}`}
              aria-label={`${bar.label}: ${bar.text}`}
              aria-pressed={bar.key === chosen}
              onClick={() => onChoose(bar.key)}
            >
              <Column bar={bar} most={most} />
            </button>
          ) : (
            <div key={bar.key} role="img" title={`${bar.label}: ${bar.text}`} aria-label={`${bar.label}: ${bar.text}`}>
              <Column bar={bar} most={most} />
            </div>
          ),
        )}
      </div>
      <figcaption class="soft">
        <span>{bars[0]?.label}</span>
        {bars.length > 1 && <span>{bars.at(-1)?.label}</span>}
      </figcaption>
    </figure>
  );
}

function Column({ bar, most }: { bar: Bar; most: number }) {
  const percent = most ? Math.max(bar.value > 0 ? 2 : 0, (100 * bar.value) / most) : 0;
  return <span style={{ height: `${percent}%` }} />;
}
