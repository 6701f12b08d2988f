import { Dialog } from "../../ui/Dialog";

const KEYS: readonly (readonly [string, string])[] = [
  ["j / k", "Next or previous conversation"],
  ["Enter", "Open the chosen conversation"],
  ["t", "Take the conversation"],
  ["r", "Reply"],
  ["n", "Write a private note"],
  ["h", "Hand back to the agent"],
  ["e", "Mark as done"],
  ["u", "Back to the list"],
  ["?", "Show this list"],
];

/** The keys of the inbox. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys of the inbox" onClose={onClose}>
      <dl class="inbox-keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
