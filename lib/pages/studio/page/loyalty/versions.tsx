/** Versions of a loyalty configuration: who made them, how two differ, and the way back. */

import { useEffect, useState } from "preact/hooks";
import { type Difference, differences } from "../../../../base/json/mod.ts";
import type { Zone } from "../answers.tsx";
import type { Resource } from "../api.ts";
import { Differences } from "../documents/editor.tsx";
import { messageOf } from "../problem.ts";
import { ask, Problem } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { type PartProps, zoneOf } from "./part.ts";

async function listVersions({ api, chain, signal }: ViewContext) {
  return await api.control.listLoyaltyVersions({ spaceId: chain.at(-1)?.id ?? "" }, { signal });
}

type Version = Awaited<ReturnType<typeof listVersions>>[number];

export function Versions({ context, document, live }: PartProps) {
  const [versions, setVersions] = useState<readonly Version[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [pair, setPair] = useState<readonly [from: string, to: string] | null>(null);
  const [refusal, setRefusal] = useState("");
  const load = async (): Promise<void> => {
    setError(null);
    await listVersions(context).then(
      found => {
        setVersions(found);
        const [now, before] = found;
        setPair(now === undefined ? null : [before?.id ?? now.id, now.id]);
      },
      thrown => !context.signal.aborted && setError(thrown),
    );
  };
  useEffect(() => void load(), [live.tag]);
  if (error !== null) return <Problem error={error} retry={load} />;
  if (versions === null) return <p class="quiet">Loading…</p>;
  if (versions.length === 0) return <p class="empty">There are no versions yet. The first save makes one.</p>;
  async function rollBack({ id }: Version): Promise<void> {
    const isSure = await ask({
      title: `Roll back to version ${id}?`,
      text: `Its document becomes a new version, in force for fans within a second. What fans have collected stays; rules that version ${id} lacks give nothing from then on.`,
      confirm: "Roll back",
    });
    if (!isSure) return;
    const { id: spaceId } = context.chain.at(-1) as Resource;
    const input = { spaceId, body: { version: Number(id) } };
    setRefusal("");
    await context.api.control.rollBackLoyaltyConfiguration(input, { headers: { "if-match": live.tag } }).then(
      () => context.announce(`Version ${id} is in force again.`),
      thrown => setRefusal(messageOf(thrown)),
    );
    await document.saved.load();
  }
  return (
    <>
      {refusal !== "" && (
        <p class="fault" role="alert">
          {refusal}
        </p>
      )}
      <VersionTable versions={versions} zone={zoneOf(live.value)} rollBack={rollBack} />
      {pair !== null && <Comparison context={context} versions={versions} pair={pair} setPair={setPair} />}
    </>
  );
}

interface VersionTableProps {
  readonly versions: readonly Version[];
  readonly zone: Zone;
  readonly rollBack: (version: Version) => void;
}

function VersionTable({ versions, zone, rollBack }: VersionTableProps) {
  return (
    <section class="table" aria-label="Versions">
      <table>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Saved ({zone.name})</th>
            <th scope="col">By</th>
            <th scope="col">
              <span class="hidden">Roll back</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.map((version, index) => {
            const { id, attributes } = version;
            return (
              <tr key={id}>
                <th scope="row">
                  {id} {index === 0 && <span class="state">In force</span>}
                  {attributes.rollback_of !== null && (
                    <span class="quiet"> as version {attributes.rollback_of}</span>
                  )}
                </th>
                <td>{zone.moment(attributes.created_at)}</td>
                <td>{authorOf(attributes.created_by)}</td>
                <td class="number">
                  {index > 0 && (
                    <button
                      type="button"
                      aria-label={`Roll back to version ${id}…`}
                      onClick={() => rollBack(version)}
                    >
                      Roll back…
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function authorOf(by: string): string {
  const [kind, id = ""] = by.split(":");
  return kind === "user" ? `Author ${id.slice(0, 8)}` : `API key ${id.slice(0, 8)}`;
}

interface ComparisonProps {
  readonly context: ViewContext;
  readonly versions: readonly Version[];
  readonly pair: readonly [from: string, to: string];
  readonly setPair: (pair: readonly [from: string, to: string]) => void;
}

function Comparison({ context, versions, pair, setPair }: ComparisonProps) {
  const [found, setFound] = useState<readonly Difference[] | null>(null);
  const [from, to] = pair;
  useEffect(() => {
    let isOld = false;
    setFound(null);
    const { id: spaceId } = context.chain.at(-1) as Resource;
    const read = (version: string) =>
      context.api.control.getLoyaltyVersion(
        { spaceId, version: Number(version) },
        { signal: context.signal },
      );
    Promise.all([read(from), read(to)]).then(
      ([before, after]) =>
        !isOld && setFound(differences(before.attributes.document, after.attributes.document)),
      () => {},
    );
    return () => {
      isOld = true;
    };
  }, [from, to]);
  const choose = (label: string, value: string, set: (id: string) => void) => (
    <label class="row">
      {label}
      <select value={value} onChange={event => set(event.currentTarget.value)}>
        {versions.map(({ id }) => (
          <option key={id} value={id}>
            Version {id}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section>
      <div class="row spread">
        <h2>Compare</h2>
        <div class="row">
          {choose("From", from, id => setPair([id, to]))}
          {choose("to", to, id => setPair([from, id]))}
        </div>
      </div>
      {found === null ? (
        <p class="quiet">Loading…</p>
      ) : (
        <Differences
          differences={found}
          caption="How the versions differ"
          from={`Version ${from}`}
          to={`Version ${to}`}
        />
      )}
    </section>
  );
}
