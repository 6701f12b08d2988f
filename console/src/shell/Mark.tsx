/** The product's mark: a door. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="M5 21V10a7 7 0 0 1 14 0v11" />
      <path d="M3 21h18" />
      <circle cx="15" cy="14.5" r="1.1" />
    </svg>
  );
}
