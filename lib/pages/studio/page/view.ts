/** What a view is, and what it gets. */

import type { ReadonlySignal } from "@preact/signals";
import type { VNode } from "preact";
import type { Api, Resource, Role } from "./api.ts";
import type { Place } from "./places.ts";

/** An author as the page shows it. */
export interface SignedIn {
  readonly id: string;
  readonly email: string;
  readonly isOperator: boolean;
}

export interface ViewContext {
  readonly api: Api;
  readonly place: Place;
  /** The scope of the place and what is above it, the scope last; empty outside organisations. */
  readonly chain: readonly Resource[];
  /** Aborted when the view is left. */
  readonly signal: AbortSignal;
  /** Sets the question whether leaving the view would lose something; the user is asked then. */
  readonly guard: (isUnsaved: () => boolean) => void;
  /** Shows attributes of the scope as they are from now on. */
  readonly takeScope: (attributes: Resource["attributes"]) => void;
  /** Says something in the live region of the page. */
  readonly announce: (text: string) => void;
  /** The author who is signed in; null: it is still being read. */
  readonly user: ReadonlySignal<SignedIn | null>;
  /** Resolves with the author who is signed in. @throws {GrandstandError} */
  readonly readUser: () => Promise<SignedIn>;
  /** The user's role at the place. */
  readonly role: Role | null;
  /** Addresses of admins, whom to ask for another role. */
  readonly admins: readonly string[];
}

/** A view that makes its own elements gets the one to fill. */
export interface RootContext extends ViewContext {
  readonly root: HTMLElement;
}

export type View = (props: { readonly context: ViewContext }) => VNode | null;

export interface ViewEntry {
  readonly title: string;
  /** The least role that sees it; others are told who can. @default viewer */
  readonly role?: Role;
  readonly load: () => Promise<View>;
}

const ranks: readonly Role[] = ["viewer", "creator", "admin"];

/** Returns why a role may not do what needs another one, and whom to ask; null: it may. */
export function refusalOf(role: Role | null, needed: Role, admins: readonly string[] = []): string | null {
  if (role !== null && ranks.indexOf(role) >= ranks.indexOf(needed)) return null;
  const whom = new Intl.ListFormat("en").format(admins);
  return `Needs the role ${needed}.${whom && ` ${whom} ${admins.length === 1 ? "is" : "are"} admin.`}`;
}
