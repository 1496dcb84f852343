/** Fans of an organisation: found by address, id, name or segment, and one of them with all that is known. */

import { useRef, useState } from "preact/hooks";
import { Shown, useAnswer } from "../answers.tsx";
import { hrefOf } from "../places.ts";
import { messageOf } from "../problem.ts";
import type { ViewContext } from "../view.ts";
import { Person } from "./person.tsx";
import { fanName, originOf, readAccess, type Tenants } from "./tenants.ts";

/** Ids that an address of the page can have; others open without one. */
const addressable = /^[\w-]{1,100}$/;

export function People({ context }: { readonly context: ViewContext }) {
  const { chain, place } = context;
  const [opened, setOpened] = useState<string | null>(null);
  const [search, setSearch] = useState<Search>({ filter: null, found: [], next: null });
  const access = useAnswer(() => readAccess(context), context);
  const scope = chain.at(-1);
  if (scope === undefined) return null;
  const open = (id: string | null): void => {
    const isAddressable = id === null || addressable.test(id);
    setOpened(isAddressable ? null : id);
    if (isAddressable) location.hash = hrefOf(scope, "people", id ?? undefined);
  };
  const userId = opened ?? place.item;
  return (
    <Shown answer={access}>
      {({ refusal, tenants }) => {
        if (refusal !== null) return <p class="empty">{refusal}</p>;
        if (userId === null)
          return (
            <Finder context={context} tenants={tenants} search={search} onSearch={setSearch} onOpen={open} />
          );
        return (
          <Person
            key={userId}
            context={context}
            tenants={tenants}
            userId={userId}
            onLeave={() => open(null)}
          />
        );
      }}
    </Shown>
  );
}

type Found = Awaited<ReturnType<ViewContext["api"]["audience"]["searchAudienceUsers"]>>[number];

interface Search {
  /** Null: nothing was asked yet. */
  readonly filter: Filter | null;
  readonly found: readonly Found[];
  readonly next: string | null;
}

type Filter = Readonly<Record<string, unknown>>;

interface FinderProps {
  readonly context: ViewContext;
  readonly tenants: Tenants;
  readonly search: Search;
  readonly onSearch: (search: Search) => void;
  readonly onOpen: (userId: string) => void;
}

const fields = ["userId", "displayName", "username", "provider", "lastActiveAt", "metrics"];
const limit = 50;

function Finder({ context, tenants, search, onSearch, onOpen }: FinderProps) {
  const { api, signal } = context;
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  /** Finds whom the first filter lets through that lets anybody through. */
  async function find(filters: readonly Filter[], after: Search | null): Promise<void> {
    setBusy(true);
    setFault("");
    const { organisationId, spaceId } = tenants;
    const key = after?.next ?? null;
    const options = { signal, headers: { "x-platform-org-id": organisationId } };
    try {
      for (const filter of filters) {
        const body = { filter, fields, limit, ...(key !== null && { lastEvaluatedKey: key }) };
        const call = api.audience.searchAudienceUsers({ space_id: spaceId, body } as never, options);
        const { data, lastEvaluatedKey } = (await call.whole()).document;
        const found = [...(after?.found ?? []), ...data];
        onSearch({ filter, found, next: lastEvaluatedKey });
        context.announce(found.length === 1 ? "1 person found." : `${found.length} people found.`);
        if (data.length > 0) break;
      }
    } catch (error) {
      if (!signal.aborted) setFault(messageOf(error));
    }
    if (!signal.aborted) setBusy(false);
  }
  return (
    <div class="view">
      <SearchForm tenants={tenants} isBusy={isBusy} onSearch={filters => void find(filters, null)} />
      <p class="fault" role="alert">
        {fault}
      </p>
      {search.filter === null && (
        <p class="empty">
          Search by e-mail address, id, part of a name or segment. An empty search lists everybody.
        </p>
      )}
      {search.filter !== null && search.found.length === 0 && !isBusy && <p class="empty">Nobody fits.</p>}
      <Results tenants={tenants} found={search.found} onOpen={onOpen} />
      {search.next !== null && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => search.filter && void find([search.filter], search)}
        >
          Show more
        </button>
      )}
    </div>
  );
}

interface SearchFormProps {
  readonly tenants: Tenants;
  readonly isBusy: boolean;
  readonly onSearch: (filters: readonly Filter[]) => void;
}

function SearchForm({ tenants, isBusy, onSearch }: SearchFormProps) {
  const form = useRef<HTMLFormElement>(null);
  return (
    <form
      ref={form}
      class="card stack"
      onSubmit={event => {
        event.preventDefault();
        if (form.current !== null) onSearch(filtersOf(new FormData(form.current)));
      }}
    >
      <div class="row fields">
        <label class="grow">
          E-mail address, id or part of a name
          <input name="text" type="search" maxLength={256} autoComplete="off" />
        </label>
        <button type="submit" class="main" disabled={isBusy}>
          Search
        </button>
      </div>
      <details>
        <summary>Segment</summary>
        <div class="row fields">
          <label>
            Points
            <select name="metric">
              {[...tenants.metrics].map(([id, title]) => (
                <option key={id} value={id}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label>
            At least
            <input name="min" type="number" step="any" />
          </label>
          <label>
            At most
            <input name="max" type="number" step="any" />
          </label>
          <label>
            Active since
            <input name="activeAfter" type="date" />
          </label>
          <label>
            Signed up since
            <input name="createdAfter" type="date" />
          </label>
        </div>
        <p class="quiet">Days begin at 00:00 UTC.</p>
      </details>
    </form>
  );
}

/** Makes the filters of a search from what was entered: what is no address may be an id, or a part of a name. */
function filtersOf(form: FormData): readonly Filter[] {
  const textIn = (name: string): string => String(form.get(name) ?? "").trim();
  const text = textIn("text");
  const [min, max] = [textIn("min"), textIn("max")];
  const range = { ...(min !== "" && { min: Number(min) }), ...(max !== "" && { max: Number(max) }) };
  const dates = ["activeAfter", "createdAfter"].flatMap(name =>
    textIn(name) === "" ? [] : [[name, textIn(name)]],
  );
  const segment = {
    ...Object.fromEntries(dates),
    ...(Object.keys(range).length > 0 && { metrics: { [textIn("metric")]: range } }),
  };
  if (text === "") return [segment];
  if (text.includes("@")) return [{ ...segment, email: text }];
  return [
    { ...segment, userIds: [text] },
    { ...segment, displayName: text },
  ];
}

const numbers = new Intl.NumberFormat();

interface ResultsProps {
  readonly tenants: Tenants;
  readonly found: readonly Found[];
  readonly onOpen: (userId: string) => void;
}

function Results({ tenants: { metrics, zone }, found, onOpen }: ResultsProps) {
  if (found.length === 0) return null;
  return (
    <section>
      <ul class="list">
        {found.map(({ userId = "", displayName, username, provider, lastActiveAt, metrics: has = {} }) => (
          <li key={userId} class="row spread">
            <span class="grow">
              <button type="button" class="plain name" dir="auto" onClick={() => onOpen(userId)}>
                {fanName(displayName || username, userId)}
              </button>
              <span class="quiet">
                {" "}
                {originOf(provider)}
                {lastActiveAt && `, active ${zone.moment(Date.parse(lastActiveAt) / 1_000)}`}
              </span>
            </span>
            <span class="quiet">
              {Object.entries(has)
                .map(([id, value]) => `${numbers.format(value)} ${metrics.get(id) ?? id}`)
                .join(" · ")}
            </span>
          </li>
        ))}
      </ul>
      <p class="quiet">Times in {zone.name}</p>
    </section>
  );
}
