/** Who changed what in a place, newest first. */

import { useState } from "preact/hooks";
import { readZone, Shown, useAnswer, type Zone } from "./answers.tsx";
import { cursorOf, type Resource } from "./api.ts";
import { hrefOf } from "./places.ts";
import { messageOf } from "./problem.ts";
import type { ViewContext } from "./view.ts";

interface Change {
  readonly op: "add" | "update" | "remove";
  readonly type: string;
  readonly id: string;
  readonly title?: string;
  readonly attributes?: readonly string[];
  readonly action?: string;
}

interface Entry {
  readonly id: string;
  readonly at: number;
  readonly who: string;
  readonly changes: readonly Change[];
}

interface Page {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

const pageCount = 100;
/** Most pages that are read for entries that a filter lets through. */
const pagesMax = 10;
const enough = 30;
const kinds = [
  "apps",
  "assets",
  "elements",
  "event_templates",
  "events",
  "organisations",
  "projects",
  "scope_roles",
  "spaces",
  "tags",
];
const verbs = { add: "added", update: "changed", remove: "removed" } as const;
const scopeShape = /^(organisations|spaces|projects|events)$/;

export function Activity({ context }: { readonly context: ViewContext }) {
  const first = useAnswer(async () => {
    const [zone, page] = await Promise.all([readZone(context), readPage(context, null)]);
    return { zone, page };
  }, context);
  return (
    <Shown answer={first}>
      {({ zone, page }) => <Trail key={first.at} context={context} zone={zone} first={page} />}
    </Shown>
  );
}

async function readPage({ api, chain, signal }: ViewContext, cursor: string | null): Promise<Page> {
  const { control } = api;
  const { type = "", id = "" } = chain.at(-1) ?? {};
  const query = { "page[count]": pageCount, ...(cursor !== null && { "page[cursor]": cursor }) };
  const list =
    type === "organisations"
      ? control.listOrganisationChanges({ organisationId: id, ...query }, { signal })
      : type === "spaces"
        ? control.listSpaceChanges({ spaceId: id, ...query }, { signal })
        : control.listProjectChanges({ projectId: id, ...query }, { signal });
  const { data, links } = (await list.whole()).document;
  const entries = (data as unknown as readonly Resource[]).map(({ id: entryId, attributes }) => ({
    id: entryId,
    at: Number(attributes.at),
    who: attributes.user_id === null ? "The platform" : String(attributes.user_email ?? attributes.user_id),
    changes: attributes.changes as readonly Change[],
  }));
  return { entries, next: cursorOf(links) };
}

interface TrailProps {
  readonly context: ViewContext;
  readonly zone: Zone;
  readonly first: Page;
}

function Trail({ context, zone, first }: TrailProps) {
  const [page, setPage] = useState(first);
  const [who, setWho] = useState("");
  const [kind, setKind] = useState("");
  const [count, setCount] = useState(enough);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const fits = (entry: Entry): boolean =>
    (who === "" || entry.who === who) && (kind === "" || entry.changes.some(({ type }) => type === kind));
  async function more(): Promise<void> {
    setBusy(true);
    setFault("");
    let { entries, next } = page;
    const wanted = count + enough;
    try {
      for (let read = 0; next !== null && read < pagesMax && entries.filter(fits).length < wanted; read++) {
        const following = await readPage(context, next);
        entries = [...entries, ...following.entries];
        next = following.next;
      }
    } catch (error) {
      if (!context.signal.aborted) setFault(messageOf(error));
    }
    if (context.signal.aborted) return;
    setPage({ entries, next });
    setCount(wanted);
    setBusy(false);
  }
  const shown = page.entries.filter(fits);
  const people = [...new Set(page.entries.map(entry => entry.who))].sort();
  const hasMore = page.next !== null || shown.length > count;
  return (
    <div class="view">
      <div class="row fields">
        <Choice title="Person" all="Everybody" values={people} value={who} onChoose={setWho} />
        <Choice title="Kind" all="Everything" values={kinds} value={kind} onChoose={setKind} />
        <span class="quiet">Times in {zone.name}</span>
      </div>
      {page.entries.length === 0 && <p class="empty">Nothing was changed here yet.</p>}
      <Entries entries={shown.slice(0, count)} zone={zone} />
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="row">
        {hasMore && (
          <button type="button" disabled={isBusy} onClick={() => void more()}>
            Show older
          </button>
        )}
        <span class="quiet" role="status">
          {Math.min(shown.length, count)} of {page.entries.length}
          {page.next === null ? "" : " that were read"}
        </span>
      </div>
    </div>
  );
}

function Entries({ entries, zone }: { readonly entries: readonly Entry[]; readonly zone: Zone }) {
  return (
    <ul class="list">
      {entries.map(entry => (
        <li key={entry.id} class="stack">
          <div class="row spread">
            <strong>{entry.who}</strong>
            <time class="quiet" dateTime={new Date(entry.at * 1_000).toISOString()}>
              {zone.moment(entry.at)}
            </time>
          </div>
          <ul class="stack">
            {entry.changes.map((change, index) => (
              <li key={`${index} ${change.id}`}>
                <Line change={change} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly all: string;
  readonly values: readonly string[];
  readonly value: string;
  readonly onChoose: (value: string) => void;
}

function Choice({ title, all, values, value, onChoose }: ChoiceProps) {
  return (
    <label>
      {title}
      <select value={value} onChange={event => onChoose(event.currentTarget.value)}>
        <option value="">{all}</option>
        {values.map(each => (
          <option key={each} value={each}>
            {each.replaceAll("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}

function Line({ change: { op, type, id, title, attributes, action } }: { readonly change: Change }) {
  const noun = type.replace(/ies$/, "y").replace(/s$/, "").replaceAll("_", " ");
  const what = [...(action === undefined ? [] : [action]), ...(attributes ?? [])]
    .join(", ")
    .replaceAll("_", " ");
  return (
    <>
      {verbs[op]} {noun}{" "}
      {scopeShape.test(type) && op !== "remove" ? (
        <a href={hrefOf({ type, id })}>{title ?? id}</a>
      ) : (
        title !== undefined && <bdi>{title}</bdi>
      )}
      {(op === "remove" || title === undefined) && <code> {id}</code>}
      {what !== "" && <span class="quiet"> {what}</span>}
    </>
  );
}
