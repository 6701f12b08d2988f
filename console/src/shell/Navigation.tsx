import { useEffect, useState } from "preact/hooks";
import { me, signedIn, signOut, switchTenant } from "../api/sign_in";
import { openCount, useAttention } from "../pages/inbox/attention";
import { waitingCount } from "../pages/inbox/threads";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useAction } from "../ui/resource";
import { Notice } from "../ui/states";
import { Mark } from "./Mark";
import { openPalette } from "./CommandPalette";
import { confirmLeave, navigate, route } from "./router";
import { sectionOf, visibleSections } from "./sections";
import { ModelBadge } from "./ModelBadge";
import { settings } from "./settings";

/** What the roles of the reader allow, in words. */
const ROLE_WORDS: Record<string, string> = {
  admin: "may change everything",
  editor: "may edit records",
  viewer: "may read",
};

/** The sections, the tenant and who is signed in. On a narrow window it opens from a button. */
export function Navigation() {
  const [isOpen, setOpen] = useState(false);
  const sections = visibleSections(settings.value?.local ?? false);
  const current = sectionOf(route.value, sections);
  useAttention(current?.key === "inbox");
  const openItems = openCount.value + waitingCount.value;
  const close = () => setOpen(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && setOpen(false);
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <header class={isOpen ? "navigation open" : "navigation"}>
      <div class="brand">
        <Mark />
        <span>Parlour</span>
        {settings.value?.environment && <span class="badge neutral">{settings.value.environment}</span>}
        <ModelBadge tenant={signedIn.value?.tenant ?? ""} />
      </div>
      <Button
        class="menu-button"
        icon={isOpen ? "close" : "menu"}
        aria-label={isOpen ? "Close the menu" : "Open the menu"}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <div class="navigation-body">
        <button type="button" class="palette-button" onClick={() => (close(), openPalette())}>
          <Icon name="search" /> Search <kbd>Ctrl K</kbd>
        </button>
        <nav aria-label="Sections">
          {sections.map((section) => (
            <a
              key={section.key}
              href={`#/${section.key}`}
              aria-current={section === current ? "page" : undefined}
              onClick={close}
            >
              <Icon name={section.icon} />
              <span>{section.label}</span>
              {section.key === "inbox" && openItems > 0 && (
                <span class="count" aria-label={`${openItems} open`}>
                  {openItems > 99 ? "99+" : openItems}
                </span>
              )}
            </a>
          ))}
        </nav>
        <Account />
      </div>
    </header>
  );
}

function Account() {
  const who = me.value;
  const change = useAction(async (tenant: string) => {
    if (!confirmLeave()) return;
    await switchTenant(tenant);
    navigate("#/"); // A record or conversation of one tenant is none of the other's.
  });
  const leave = () => {
    if (confirmLeave()) signOut();
  };
  if (!who) return null;
  const rights =
    who.kind === "operator"
      ? "may change everything"
      : (["admin", "editor", "viewer"].filter((role) => who.roles.includes(role)).map((role) => ROLE_WORDS[role])[0] ??
        "has no role");
  const tenants = who.tenants ?? [];
  return (
    <div class="account">
      {tenants.length > 1 ? (
        <label>
          <span class="visually-hidden">Tenant</span>
          <select value={signedIn.value?.tenant} onChange={(event) => change.run(event.currentTarget.value)}>
            {tenants.map((tenant) => (
              <option key={tenant.slug} value={tenant.slug}>
                {tenant.display_name}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <p class="tenant">{tenants[0]?.display_name ?? who.tenant}</p>
      )}
      <p class="soft">
        {who.name || who.kind} · {rights}
      </p>
      <Notice problem={change.problem} />
      <Button icon="signOut" onClick={leave}>
        Sign out
      </Button>
    </div>
  );
}
