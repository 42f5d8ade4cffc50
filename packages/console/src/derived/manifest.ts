/** Reads the index and the areas' details, each once. Their names carry a hash, so the browser keeps them. */
import type { AreaFile, AreaRow, Details, IndexFile, OperationRow } from "../model.ts"
import { root } from "../root.ts"

let areas: readonly AreaRow[] = []
let operations: readonly OperationRow[] = []
const byId = new Map<string, OperationRow>()
const loaded = new Map<string, Promise<AreaFile>>()

/** A file whose name another build gave is gone after an upgrade: loading the page again finds the new names. */
const fetchAsset = async (name: string): Promise<unknown> => {
  const response = await fetch(`${root}/console/assets/${name}`)
  if (!response.ok) throw new Error("This page is of another version of Svc. Load it again.")
  return await response.json()
}

export const loadIndex = async (name: string): Promise<void> => {
  const index = (await fetchAsset(name)) as IndexFile
  areas = index.areas
  operations = index.operations.flatMap(([id, key, at, method, path, summary, effect, caller, list]) => {
    const area = areas[at]
    return area ? [{ id, key, area, method, path, summary, effect, caller, isList: list === 1 }] : []
  })
  for (const operation of operations) byId.set(operation.id, operation)
}

export const allAreas = (): readonly AreaRow[] => areas
export const allOperations = (): readonly OperationRow[] => operations
export const operationOf = (id: string): OperationRow | undefined => byId.get(id)
/** `aiDocuments`, or `ai-documents` as the server lists it. */
export const areaOf = (name: string): AreaRow | undefined => {
  const camel = name.replaceAll(/-(\w)/g, (_, first: string) => first.toUpperCase())
  return areas.find(area => area.name === camel)
}
export const operationsOf = (area: AreaRow): readonly OperationRow[] =>
  operations.filter(operation => operation.area === area)

export const loadDetails = async ({ id, area }: OperationRow): Promise<Details> => {
  const file =
    loaded.get(area.file) ??
    fetchAsset(area.file).then(
      content => content as AreaFile,
      error => {
        loaded.delete(area.file)
        throw error
      },
    )
  loaded.set(area.file, file)
  const details = (await file)[id]
  if (!details) throw new Error(`${id} is not in the contract`)
  return details
}

/** Names of a path's parameters, in its order. */
export const paramsOf = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)

/** The operation that answers one row of this list: the same path and one parameter more. */
export const recordOperation = (list: OperationRow): OperationRow | undefined =>
  operations.find(
    ({ method, path }) =>
      method === "GET" &&
      path.startsWith(`${list.path}/{`) &&
      /^\/\{\w+\}$/.test(path.slice(list.path.length)),
  )

/** What else can be done to the thing that this operation shows: operations below its path, and others on it. */
export const relatedOperations = (operation: OperationRow): readonly OperationRow[] =>
  operations.filter(
    other =>
      other !== operation &&
      other.area === operation.area &&
      (other.path === operation.path ||
        (paramsOf(operation.path).length > 0 && other.path.startsWith(`${operation.path}/`))),
  )
