interface BarRow {
  key: string;
  label: string;
  value: number;
  hint?: string | undefined;
}

/** Amounts as bars, each with its name and its number. */
export function Bars({ rows, format }: { rows: readonly BarRow[]; format: (value: number) => string }) {
  const most = Math.max(...rows.map((row) => row.value), 1);
  return (
    <dl class="trace-bars">
      {rows.map((row) => (
        <div key={row.key} title={row.hint}>
          <dt>{row.label}</dt>
          <dd>
            <span class="trace-bar" aria-hidden="true">
              <i style={{ width: `${(100 * Math.max(0, row.value)) / most}%` }} />
            </span>
            <span>{format(row.value)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
