import type { Tenants } from "../../core/organizations/tenants.ts"
import { isFault } from "../../kernel/fault.ts"
import type { ObjectStore } from "./object-store.ts"
import type { ObjectReader } from "./offers.ts"

/** Reads the objects of a project for other areas; a deleted project has none. */
export const createObjectReader = (needs: { store: ObjectStore; tenants: Tenants }): ObjectReader => {
  const { store, tenants } = needs
  return {
    async list(projectId, bucket, { prefix = "", cursor, limit }) {
      const place = await tenants.find(projectId)
      if (!place) return { objects: [], cursor: null }
      const listed = await store.list(place, bucket, {
        prefix,
        limit,
        ...(cursor === null ? {} : { cursor }),
      })
      const objects = listed.objects.map(({ key, size, http }) => ({
        ...{ key, sizeBytes: size, contentType: http.contentType },
      }))
      return { objects, cursor: listed.cursor }
    },
    async read(projectId, bucket, key) {
      const place = await tenants.find(projectId)
      if (!place) return null
      try {
        return (await store.open(place, bucket, key, () => "all")).body
      } catch (error) {
        if (isFault(error, "object_not_found")) return null
        throw error
      }
    },
  }
}
