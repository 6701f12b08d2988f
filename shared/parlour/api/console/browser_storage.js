// What survives a reload: of this tab, which conversation was open; of this browser, who the visitor is to each agent, for
// as long as that is good. Nothing of a member's credentials.

const NAME = "parlour.conversation";
const VISITORS = "parlour.visitors";

export function remembered() {
  return read(sessionStorage, NAME);
}

export function remember(conversation) {
  write(sessionStorage, NAME, conversation);
}

export function forget() {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was kept.
  }
}

/** The token with which the visitor lists and goes on with all of their conversations with an agent; null without one. */
export function visitor({ tenant, slug }) {
  const found = read(localStorage, VISITORS)?.[`${tenant}/${slug}`];
  return found && Date.parse(found.expires_at) > Date.now() ? found.token : null;
}

export function rememberVisitor({ tenant, slug }, { visitor_token: token, visitor_expires_at: expires_at }) {
  if (token) write(localStorage, VISITORS, { ...read(localStorage, VISITORS), [`${tenant}/${slug}`]: { token, expires_at } });
}

export function forgetVisitor({ tenant, slug }) {
  const { [`${tenant}/${slug}`]: gone, ...others } = read(localStorage, VISITORS) ?? {};
  if (gone) write(localStorage, VISITORS, others);
}

function read(storage, name) {
  try {
    return JSON.parse(storage.getItem(name));
  } catch {
    return null;
  }
}

function write(storage, name, value) {
  try {
    storage.setItem(name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing only loses the conversation on reload.
  }
}
