import type { ComponentChildren } from "preact";
import { Scrollable } from "./Scrollable";

export interface Column<Row> {
  label: string;
  cell: (row: Row) => ComponentChildren;
  /** A number or an amount: aligned right. */
  isNumber?: boolean;
  /** Hidden where the window is narrow. */
  isSecondary?: boolean;
}

interface TableProps<Row> {
  /** What the table lists, for screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}

/** A table. The first column names the row and should hold its link. */
export function Table<Row>({ caption, columns, rows, rowKey }: TableProps<Row>) {
  return (
    <Scrollable class="table-frame" label={caption}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" class={className(column)}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td key={column.label} class={className(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

function className({ isNumber, isSecondary }: Column<never>): string {
  return [isNumber ? "number" : "", isSecondary ? "secondary" : ""].join(" ").trim();
}

/** Names and values, such as the properties of a record. Empty values are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
