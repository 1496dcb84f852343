/** What an action of a real fan would do now. Nothing changes. */

import { useEffect, useState } from "preact/hooks";
import { isMembers } from "../../../../base/json/mod.ts";
import type { Api, Role } from "../api.ts";
import { messageOf } from "../problem.ts";
import { Act } from "../ui.tsx";
import { refusalOf } from "../view.ts";
import type { PartProps } from "./part.ts";

type Tried = Awaited<ReturnType<Api["loyalty"]["tryAction"]>>;

interface Action {
  readonly name: string;
  readonly data?: Readonly<Record<string, string>>;
}

type Report = Parameters<Api["loyalty"]["tryAction"]>[0]["body"];

export function Trial({ context, live }: PartProps) {
  const { api, chain, announce } = context;
  const actions = actionsOf(live.value);
  const refusal = useOrganisationRefusal(context);
  const [tried, setTried] = useState<Tried | null>(null);
  const [fault, setFault] = useState("");
  if (actions.length === 0) return <p class="empty">The configuration in force has no actions to try.</p>;
  async function run(body: Report): Promise<void> {
    setFault("");
    setTried(null);
    await api.loyalty.tryAction({ space_id: chain.at(-1)?.id ?? "", body }).then(
      found => {
        setTried(found);
        announce(`${found.effects.length} effects`);
      },
      error => setFault(messageOf(error)),
    );
  }
  return (
    <>
      <p class="quiet">
        Asks the platform what the action of a real fan would do now, under the configuration in force.
        Nothing changes for the fan.
      </p>
      <TrialForm actions={actions} refusal={refusal} onTry={run} />
      {fault !== "" && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {tried !== null && <Effects tried={tried} />}
    </>
  );
}

interface TrialFormProps {
  readonly actions: readonly Action[];
  readonly refusal: string | null;
  readonly onTry: (report: Report) => void;
}

function TrialForm({ actions, refusal, onTry }: TrialFormProps) {
  const [userId, setUserId] = useState("");
  const [name, setName] = useState(actions[0]?.name ?? "");
  const [data, setData] = useState<Readonly<Record<string, string>>>({});
  const action = actions.find(each => each.name === name);
  const isBare = userId.trim() === "" ? "Write the id of a fan first." : null;
  const send = (): void => onTry({ userId: userId.trim(), action: name, data: typed(action, data) });
  return (
    <form
      class="card trial"
      onSubmit={event => {
        event.preventDefault();
        if (refusal === null && isBare === null) send();
      }}
    >
      <label>
        Id of the fan
        <input value={userId} maxLength={128} onInput={event => setUserId(event.currentTarget.value)} />
      </label>
      <label>
        Action
        <select value={name} onChange={event => setName(event.currentTarget.value)}>
          {actions.map(each => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
      </label>
      {Object.entries(action?.data ?? {}).map(([key, type]) => (
        <div key={key} class="labelled">
          <label for={`data-${key}`}>{key}</label>
          <DataField
            id={`data-${key}`}
            type={type}
            value={data[key] ?? ""}
            onValue={value => setData({ ...data, [key]: value })}
          />
        </div>
      ))}
      <div class="row">
        <Act class="main" refusal={refusal ?? isBare} onPress={send}>
          Try it
        </Act>
        {refusal !== null && <span class="quiet">{refusal}</span>}
      </div>
    </form>
  );
}

interface DataFieldProps {
  readonly id: string;
  readonly type: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function DataField({ id, type, value, onValue }: DataFieldProps) {
  if (type === "boolean") {
    return (
      <select id={id} value={value} onChange={event => onValue(event.currentTarget.value)}>
        <option value="">left out</option>
        <option value="true">yes</option>
        <option value="false">no</option>
      </select>
    );
  }
  return (
    <input
      id={id}
      value={value}
      inputMode={type === "number" ? "decimal" : "text"}
      onInput={event => onValue(event.currentTarget.value)}
    />
  );
}

/** Returns the data with the types that the action declares; empty fields are left out. */
function typed({ data: types = {} }: Partial<Action> = {}, data: Readonly<Record<string, string>>) {
  const given = Object.entries(types).filter(([key]) => (data[key] ?? "") !== "");
  return Object.fromEntries(
    given.map(([key, type]) => {
      const text = data[key] ?? "";
      return [key, type === "number" ? Number(text) : type === "boolean" ? text === "true" : text];
    }),
  );
}

function actionsOf(configuration: unknown): readonly Action[] {
  const { actions } = isMembers(configuration) ? configuration : {};
  return Array.isArray(actions) ? (actions as readonly Action[]) : [];
}

/** Users are those of the organisation, so that its admins alone may try what they do. */
function useOrganisationRefusal({ api, chain, signal }: PartProps["context"]): string | null {
  const [refusal, setRefusal] = useState<string | null>(null);
  const organisationId = chain.find(({ type }) => type === "organisations")?.id ?? "";
  useEffect(() => {
    api.control.readMyRoleInOrganisation({ organisationId }, { signal }).then(
      ({ attributes: { role } }) => {
        const missing = refusalOf(role === "none" ? null : (role as Role), "admin");
        if (missing !== null) setRefusal("Needs the role admin in the organisation, whose fans these are.");
      },
      () => {},
    );
  }, []);
  return refusal;
}

function Effects({ tried }: { readonly tried: Tried }) {
  const effects = tried.effects.flatMap(({ payload }) => linesOf(payload));
  const rules = tried.rules.map(({ ruleId, fired, failures }) => ({
    id: ruleId,
    kind: "Rule",
    holds: fired,
    failures,
  }));
  const missions = tried.missions.map(({ missionId, advanced, failures }) => ({
    id: missionId,
    kind: "Mission",
    holds: advanced,
    failures,
  }));
  return (
    <section aria-label="What would happen">
      <h2>{effects.length === 0 ? "Nothing would happen" : "This would happen"}</h2>
      <ul class="stack">
        {effects.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <section class="table" aria-label="Rules and missions">
        <table>
          <thead>
            <tr>
              <th scope="col">Rule or mission</th>
              <th scope="col">Applies</th>
              <th scope="col">Why not</th>
            </tr>
          </thead>
          <tbody>
            {[...rules, ...missions].map(({ id, kind, holds, failures }) => (
              <tr key={kind + id}>
                <th scope="row">
                  {kind} {id}
                </th>
                <td class={holds ? "good" : ""}>{holds ? "✓ yes" : "no"}</td>
                <td>
                  {failures
                    .map(
                      ({ path, expected, actual }) =>
                        `${path}: expected ${expected}, is ${JSON.stringify(actual)}`,
                    )
                    .join("; ")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}

function linesOf({
  metricChanges,
  inventoryChanges,
  milestoneChanges,
  couponId,
  challengeId,
  missionId,
}: Tried["effects"][number]["payload"]): readonly string[] {
  return [
    ...Object.entries(metricChanges).map(
      ([id, { oldValue, newValue }]) => `${id}: ${oldValue} → ${newValue}`,
    ),
    ...inventoryChanges.received.map(({ setId, itemId }) => `gets ${itemId} of ${setId}`),
    ...inventoryChanges.lost.map(({ setId, itemId }) => `loses ${itemId} of ${setId}`),
    ...Object.entries(milestoneChanges).map(
      ([id, { newValue }]) => `reaches ${newValue || "no rung"} of ${id}`,
    ),
    ...(couponId === undefined ? [] : [`gets the coupon ${couponId}`]),
    ...(missionId === undefined
      ? challengeId === undefined
        ? []
        : [`the challenge ${challengeId} moves on`]
      : [`the mission ${missionId} moves on`]),
  ];
}
