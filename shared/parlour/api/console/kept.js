// What survives a reload of this tab: which conversation was open. Nothing of a member's credentials.

const NAME = "parlour.conversation";

export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME));
  } catch {
    return null;
  }
}

export function remember(conversation) {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(conversation));
  } catch {
    // A browser that keeps nothing only loses the conversation on reload.
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was kept.
  }
}
