import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { api, hasRole, me } from "../../../api/sign_in";
import { to } from "../../../shell/router";
import { ConfirmButton } from "../../../ui/Dialog";
import { Page } from "../../../ui/Page";
import { useAction, usePages, useResource } from "../../../ui/resource";
import { Loaded, LoadMore, Notice } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { StateBadge } from "../ConversationListPage";
import { channelName, conversationTitle, personName } from "../state_words";
import { ErasePerson } from "./ErasePerson";
import { MemoryList } from "./Memory";
import "./people.css";

type Person = Schema["UserView"];

const BACK = { href: to(["people"]), label: "All people" };

const LEVELS = ["Public", "Internal", "Confidential", "Restricted"];

/** One person: what is remembered, their conversations, and what an administrator may do. */
export function PersonPage({ userId }: { userId: string }) {
  const path = { user_id: userId };
  const memory = useResource(
    (signal) => body(api.GET("/v1/users/{user_id}/memory", { params: { path }, signal })),
    [userId],
  );
  const found = memory.data;
  const person = found?.user;
  if (!found || !person) {
    return (
      <Page title="Person" back={BACK}>
        <Loaded of={memory} rows={8}>
          {() => null}
        </Loaded>
      </Page>
    );
  }
  const name = personName(person);
  return (
    <Page title={name} back={BACK} lead={<Lead person={person} />}>
      <Notice problem={memory.problem} />
      <div class="person">
        <section class="people-part" aria-label="What is remembered">
          <h2>What is remembered</h2>
          <MemoryList memory={found} onChanged={memory.reload} />
        </section>
        <div class="people-part">
          <Conversations userId={userId} />
          {hasRole("admin") && (
            <Administration person={person} name={person.name || "this person"} onChanged={memory.reload} />
          )}
        </div>
      </div>
    </Page>
  );
}

function Lead({ person }: { person: Person }) {
  return (
    <>
      {person.channels.map(channelName).join(" and ") || "No channel"}
      {person.name && person.phone_last_digits && ` · number ending in ${person.phone_last_digits}`} · first seen{" "}
      <Time at={person.created_at} />
    </>
  );
}

function Conversations({ userId }: { userId: string }) {
  const pages = usePages(
    async (cursor, signal) => {
      const query = { person: userId, cursor, limit: 10 };
      const page = await body(api.GET("/v1/conversations", { params: { query }, signal }));
      return { items: page.conversations, next_cursor: page.next_cursor };
    },
    [userId],
  );
  return (
    <section class="card">
      <h2>Conversations</h2>
      <Loaded of={pages} rows={3}>
        {(found) => (
          <ul class="person-conversations">
            {found.map((conversation) => (
              <li key={conversation.id}>
                <a href={to(["conversations", conversation.id])}>{conversationTitle(conversation)}</a>
                <StateBadge conversation={conversation} />
                <span class="soft">
                  {conversation.agent.name} · {channelName(conversation.channel)} ·{" "}
                  <Time at={conversation.last_active_at} />
                </span>
              </li>
            ))}
            {!found.length && <li class="soft">None that you may see.</li>}
          </ul>
        )}
      </Loaded>
      <LoadMore pages={pages} />
    </section>
  );
}

function Administration({ person, name, onChanged }: { person: Person; name: string; onChanged: () => void }) {
  const path = { user_id: person.id };
  const signOut = () => body(api.POST("/v1/users/{user_id}/sign-out", { params: { path } }));
  return (
    <>
      <Part title="Clearance">
        <Clearance person={person} onChanged={onChanged} />
      </Part>
      <Part title="Sign out">
        <SignOut name={name} work={signOut} />
      </Part>
      <Part title="Erase">
        <ErasePerson userId={person.id} name={name} />
      </Part>
    </>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card person-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What the person may be shown, whichever agent they talk to. Nobody gives more than they have. */
function Clearance({ person, onChanged }: { person: Person; onChanged: () => void }) {
  const save = useAction(async (value: string) => {
    const change = { clearance: value === "" ? null : Number(value) };
    await body(api.PUT("/v1/users/{user_id}/clearance", { params: { path: { user_id: person.id } }, body: change }));
    onChanged();
  });
  const most = me.value?.clearance ?? 0;
  return (
    <>
      <label class="person-clearance">
        <span class="soft">The highest level that agents show to this person</span>
        <select
          value={person.clearance === null ? "" : String(person.clearance)}
          disabled={save.isRunning}
          onChange={(event) => save.run(event.currentTarget.value)}
        >
          <option value="">As each agent says</option>
          {LEVELS.map((level, number) => (
            <option key={level} value={String(number)} disabled={number > most}>
              {level}
            </option>
          ))}
        </select>
      </label>
      <Notice problem={save.problem} />
    </>
  );
}

function SignOut({ name, work }: { name: string; work: () => Promise<unknown> }) {
  const [isDone, setDone] = useState(false);
  return (
    <>
      <p class="soft">Ends all of their web sessions. Their conversations and what is remembered stay.</p>
      {isDone ? (
        <p role="status">Signed out everywhere.</p>
      ) : (
        <ConfirmButton
          label="Sign out everywhere"
          title={`Sign out ${name} everywhere?`}
          confirmLabel="Sign out"
          kind="quiet"
          work={async () => {
            await work();
            setDone(true);
          }}
        >
          <p>Every browser that {name} used begins again as a new visitor. A phone number stays known.</p>
        </ConfirmButton>
      )}
    </>
  );
}
