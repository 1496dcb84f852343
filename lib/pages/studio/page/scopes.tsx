/** What is below a scope: spaces or projects; the organisations where there is no scope. */

import { useEffect, useState } from "preact/hooks";
import { type PageQuery, type Resource, type ScopeType, scopeTypes, textOf } from "./api.ts";
import { hrefOf } from "./places.ts";
import { Problem } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

interface Listed {
  readonly items: readonly Resource[];
  readonly next: string | null;
}

interface ScopesProps {
  readonly context: ViewContext;
  /** The view that cards lead to. @default the first one */
  readonly view?: string;
}

/** Ways to the people of each project: accounts are those of a project, points those of its space. */
export function PeopleBelow({ context }: { readonly context: ViewContext }) {
  return (
    <div class="stack">
      <p class="quiet">Accounts belong to a project, points to its space. Choose where you look.</p>
      <ScopesBelow context={context} view="people" />
    </div>
  );
}

export function ScopesBelow({ context: { api, chain, signal }, view }: ScopesProps) {
  const scope = chain.at(-1);
  const type = scopeTypes[scopeTypes.indexOf(scope?.type as ScopeType) + 1] ?? "events";
  const [listed, setListed] = useState<Listed | null>(null);
  const [error, setError] = useState<unknown>(null);
  async function read(): Promise<void> {
    setError(null);
    const query: PageQuery = { "page[count]": 48, ...(listed?.next && { "page[cursor]": listed.next }) };
    const { data, next } = await api.scopesBelow(type, scope?.id ?? "", query, signal);
    setListed({ items: [...(listed?.items ?? []), ...data], next });
  }
  const start = (): void => void read().catch(thrown => !signal.aborted && setError(thrown));
  useEffect(start, []);
  if (error !== null) return <Problem error={error} retry={start} />;
  if (listed === null) return <p class="quiet">Loading…</p>;
  const hint = scope === undefined ? " If your role is for a part of one, open the link to it." : "";
  if (listed.items.length === 0) {
    return (
      <p class="empty">
        There are no {type} that you can see.{hint}
      </p>
    );
  }
  return (
    <div class="stack">
      <ul class="cards">
        {listed.items.map(item => (
          <Card key={item.id} resource={item} view={view} />
        ))}
      </ul>
      {listed.next !== null && (
        <button type="button" onClick={start}>
          Show more
        </button>
      )}
    </div>
  );
}

function Card({ resource, view }: { readonly resource: Resource; readonly view: string | undefined }) {
  return (
    <li>
      <a class="card" href={hrefOf(resource, view)}>
        <strong>{textOf(resource, "name")}</strong>
      </a>
    </li>
  );
}
