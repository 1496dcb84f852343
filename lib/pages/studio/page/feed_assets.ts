/** The files that elements name by their ids, as the feeds of fans have them. */

import { useEffect, useState } from "preact/hooks";
import { assetNames, type FeedAssets, noAssets } from "../../../authoring/feeds/feed_element.ts";
import { textOf } from "./api.ts";
import type { ViewContext } from "./view.ts";

interface Shown {
  readonly attributes: Readonly<Record<string, unknown>>;
}

export function useFeedAssets({ api, chain, signal }: ViewContext, elements: readonly Shown[]): FeedAssets {
  const [assets, setAssets] = useState(noAssets);
  const project = chain.find(({ type }) => type === "projects")?.id ?? "";
  // What has an address is shown by it.
  const ids = assetNames(elements, project).filter(name => !name.includes("/"));
  useEffect(() => {
    let isOld = false;
    const read = async (id: string) => {
      const asset = await api.control.readAsset({ assetId: id }, { signal });
      const [url, text] = [textOf(asset, "url"), textOf(asset, "alt_text")];
      return [id, { url, text }] as const;
    };
    // An id may be that of something else.
    void Promise.allSettled(ids.map(read)).then(found => {
      const read = found.flatMap(each => (each.status === "fulfilled" ? [each.value] : []));
      if (!isOld) setAssets(new Map(read));
    });
    return () => {
      isOld = true;
    };
  }, [ids.join()]);
  return assets;
}
