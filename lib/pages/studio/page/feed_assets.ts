/** The files that elements name by their ids, as the feeds of fans have them. */

import { useEffect, useState } from "preact/hooks";
import { type FeedAssets, noAssets } from "../../../authoring/feeds/feed_element.ts";
import { textOf } from "./api.ts";
import type { ViewContext } from "./view.ts";

const idShape = /"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"/gi;

interface Shown {
  readonly attributes: Readonly<Record<string, unknown>>;
}

export function useFeedAssets({ api, chain, signal }: ViewContext, elements: readonly Shown[]): FeedAssets {
  const [assets, setAssets] = useState(noAssets);
  const project = chain.find(({ type }) => type === "projects")?.id ?? "";
  const text = JSON.stringify(
    elements.map(({ attributes: { question, custom_fields: custom } }) => [question, custom]),
  );
  // Ids of the same project are those of other records.
  const ids = [...text.matchAll(idShape)].flatMap(([, id = ""]) =>
    id.startsWith(project.slice(0, 13)) ? [] : id,
  );
  useEffect(() => {
    const read = (id: string) =>
      api.control.readAsset({ assetId: id }, { signal }).then(
        asset => [[id, { url: textOf(asset, "url"), text: textOf(asset, "alt_text") }] as const],
        () => [],
      );
    void Promise.all(ids.map(read)).then(found => setAssets(new Map(found.flat())));
  }, [ids.join()]);
  return assets;
}
