import { body, type Schema } from "../../../api/client";
import { api, hasRole } from "../../../api/sign_in";
import { useResource } from "../../../ui/resource";
import { Loaded } from "../../../ui/states";
import { Time } from "../../../ui/Time";
import { FactValue } from "./FactValue";
import { factLabel } from "./memory_words";

type SharedFact = Schema["SharedFactView"];

/** The facts of whole personas and teams: everybody who talks to them may be told. */
export function SharedFacts() {
  const facts = useResource(async (signal) => (await body(api.GET("/v1/memory/shared-facts", { signal }))).facts, []);
  return (
    <section class="people-part">
      <h2>Shared facts</h2>
      <p class="soft">What whole personas and teams know. Everybody who talks to them may be told.</p>
      <Loaded of={facts} rows={2}>
        {(found) =>
          found.length ? (
            <ul class="facts-list">
              {found.map((fact) => (
                <li key={fact.id}>
                  <SharedFactItem fact={fact} onChanged={facts.reload} />
                </li>
              ))}
            </ul>
          ) : (
            <p class="soft">None yet.</p>
          )
        }
      </Loaded>
    </section>
  );
}

function SharedFactItem({ fact, onChanged }: { fact: SharedFact; onChanged: () => void }) {
  return (
    <FactValue
      id={fact.id}
      label={factLabel(fact.key)}
      value={fact.value}
      canEdit={hasRole("editor")}
      canErase={hasRole("admin")}
      onChanged={onChanged}
      about={
        <>
          {fact.scope === "team" ? "Team" : "Persona"} {fact.owner_name} · since <Time at={fact.since} />
        </>
      }
    />
  );
}
