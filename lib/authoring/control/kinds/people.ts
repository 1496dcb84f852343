import { AppError } from "../../../base/errors/mod.ts";
import { resources } from "../../table/mod.ts";
import { requirePerson } from "../access/authors.ts";
import { type Grant, type Grants, grantsKey, grantsMax, noGrants, requireAdmin } from "../access/roles.ts";
import { type Entity, type Home, homeNamed, type Identifier, type Kind, type Records } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Transaction } from "../transaction.ts";

/** All grants of an organisation are one record, in which each is an entity. */
const records: Records = {
  keys: () => [grantsKey],
  get(tx, id) {
    const grant = grantsOf(tx).list.find(each => each.id === id);
    return grant === undefined ? null : entityOf(grant);
  },
  set(tx, id, entity) {
    const { rev, list } = grantsOf(tx);
    const others = list.filter(each => each.id !== id);
    if (entity !== null && others.length >= grantsMax) {
      throw new AppError("conflict", `Cannot grant another role: the organisation has ${grantsMax}`);
    }
    const changed = entity === null ? others : [...others, grantOf(entity)];
    tx.put(grantsKey, { rev: rev + 1, list: changed });
  },
};

export function scopeRoleKind(services: ControlServices): Kind {
  return {
    resource: resources.scope_roles,
    records,
    accessIn: async (id, home) => (await services.roles.grant(home.id, id))?.scope ?? home,
    list: (tx, parentId) =>
      grantsOf(tx)
        .list.filter(({ scope }) => scope.id === parentId)
        .map(({ id }) => id),
    present({ state }) {
      const { scope } = state as { readonly scope: Home };
      return {
        attributes: {},
        related: { scope: { type: `${scope.kind}s` as Identifier["type"], id: scope.id } },
      };
    },
    prepare(entity, tx, { input, previous, home }) {
      const scope = previous?.state?.scope ?? (input.parent === undefined ? home : homeNamed(input.parent));
      const next = { ...entity, state: { scope } };
      const { list } = grantsOf(tx);
      const isTaken = list.some(
        each =>
          each.id !== entity.id && each.userId === entity.refs.user && each.scope.id === (scope as Home).id,
      );
      if (isTaken)
        throw new AppError(
          "conflict",
          "Cannot grant a second role to the person there: change the first one",
        );
      requireAdmin(list, [...list.filter(({ id }) => id !== entity.id), grantOf(next)]);
      return next;
    },
    removed(entity, tx, { author }) {
      requirePerson(author, "take a role away");
      const { list } = grantsOf(tx);
      requireAdmin(
        list,
        list.filter(({ id }) => id !== entity.id),
      );
    },
    async before({ isNew, input, isDry, author, organisationId }) {
      requirePerson(author, "grant a role");
      if (!isNew) return undefined;
      const email = String(input.attributes.email);
      const user = await (isDry ? services.authors.find(email) : services.authors.findOrCreate(email));
      if (user === null) return undefined;
      if (!isDry) await services.authors.addOrganisation(user.id, organisationId);
      return { refs: { ...input.refs, user: user.id } };
    },
  };
}

function grantsOf(tx: Transaction): Grants {
  return tx.get<Grants>(grantsKey) ?? noGrants;
}

function entityOf({ id, userId, email, scope, role, created, updated, rev = 1 }: Grant): Entity {
  return {
    id,
    rev,
    created,
    updated,
    attributes: { role, email },
    refs: userId === "" ? {} : { user: userId },
    state: { scope },
  };
}

function grantOf({ id, rev, attributes, refs, state, created, updated }: Entity): Grant {
  const { role, email } = attributes as Pick<Grant, "role" | "email">;
  return { id, rev, userId: refs.user ?? "", email, scope: state?.scope as Home, role, created, updated };
}
