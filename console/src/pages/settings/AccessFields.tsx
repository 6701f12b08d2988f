import { CLEARANCES } from "../../ui/clearance";
import { Field } from "../../ui/Field";

export type Role = "admin" | "editor" | "viewer";

export interface Access {
  roles: Role[];
  clearance: number;
}

const ROLES: readonly (readonly [Role, string])[] = [
  ["viewer", "Viewer: reads conversations, records, costs"],
  ["editor", "Editor: writes records, documents and files"],
  ["admin", "Admin: changes agents, members, keys and limits"],
];

interface AccessFieldsProps {
  value: Access;
  onChange: (value: Access) => void;
}

/** The roles and the clearance of a member or a key. */
export function AccessFields({ value, onChange }: AccessFieldsProps) {
  const toggle = (role: Role, isHeld: boolean) => {
    const others = value.roles.filter((held) => held !== role);
    onChange({ ...value, roles: isHeld ? [...others, role] : others });
  };
  return (
    <>
      <fieldset class="settings-roles">
        <legend>Roles</legend>
        {ROLES.map(([role, label]) => (
          <label key={role} class="check">
            <input
              type="checkbox"
              checked={value.roles.includes(role)}
              onChange={(event) => toggle(role, event.currentTarget.checked)}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <Field label="Clearance" hint="What is classified above this level stays hidden.">
        {(attributes) => (
          <select
            {...attributes}
            value={String(value.clearance)}
            onChange={(event) => onChange({ ...value, clearance: Number(event.currentTarget.value) })}
          >
            {CLEARANCES.map((name, level) => (
              <option key={name} value={level}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}
