/** Round robin over tenants, and over the items of each: a tenant with many items gets no more turns than one with few. */
export interface FairScheduler<Item> {
  add(item: Item): void
  remove(item: Item): void
  /** The item whose turn it is, which goes behind all others; undefined if there is none. */
  next(): Item | undefined
}

/** `keyOf` tells the items of a tenant apart. */
export const createFairScheduler = <Item>(
  tenantOf: (item: Item) => string,
  keyOf: (item: Item) => string,
): FairScheduler<Item> => {
  const tenants = new Map<string, Map<string, Item>>()

  return {
    add(item) {
      const tenant = tenantOf(item)
      const items = tenants.get(tenant)
      if (items) items.set(keyOf(item), item)
      else tenants.set(tenant, new Map([[keyOf(item), item]]))
    },

    remove(item) {
      const tenant = tenantOf(item)
      const items = tenants.get(tenant)
      items?.delete(keyOf(item))
      if (items?.size === 0) tenants.delete(tenant)
    },

    next() {
      const [first] = tenants
      if (!first) return undefined
      const [tenant, items] = first
      const [turn] = items
      if (!turn) return undefined
      tenants.delete(tenant)
      tenants.set(tenant, items)
      const [key, item] = turn
      items.delete(key)
      items.set(key, item)
      return item
    },
  }
}
