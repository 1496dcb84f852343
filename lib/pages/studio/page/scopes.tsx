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

export function ScopesBelow({ context: { api, chain, signal } }: { readonly context: ViewContext }) {
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
          <Card key={item.id} resource={item} />
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

function Card({ resource }: { readonly resource: Resource }) {
  return (
    <li>
      <a class="card" href={hrefOf(resource)}>
        <strong>{textOf(resource, "name")}</strong>
      </a>
    </li>
  );
}
