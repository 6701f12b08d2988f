/** The levels of clearance and classification, from the lowest. */
export const CLEARANCES = ["Public", "Internal", "Confidential", "Restricted"] as const;

/** 2 -> "Confidential". */
export function clearanceName(level: number): string {
  return CLEARANCES[level] ?? `Level ${level}`;
}
