import type { Handler } from "../../lib/http/mod.ts";
import type { ServeOptions, Server } from "./gate.ts";

export async function serveHere(handler: Handler, options: ServeOptions): Promise<Server> {
  const { serve } = await loadEntry();
  return await serve(handler, options);
}

function loadEntry(): Promise<{ serve(handler: Handler, options: ServeOptions): Promise<Server> }> {
  if ("Bun" in globalThis) return import("../bun.ts");
  if ("Deno" in globalThis) return import("../deno.ts");
  return import("../node.ts");
}
