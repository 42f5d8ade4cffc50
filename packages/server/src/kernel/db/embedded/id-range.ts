import { readFileSync } from "node:fs"

const entryPattern = /^\s*(\d+)\s+\d+\s+(\d+)\s*$/

/** Whether every id from `first` on exists, by a uid_map or gid_map (user_namespaces(7)): lines of start, outside, count. */
export const coversRange = (idMap: string, first: number, count: number): boolean => {
  const mapped = idMap
    .split("\n")
    .flatMap(line => {
      const [, start, length] = entryPattern.exec(line) ?? []
      return start === undefined || length === undefined ? [] : [{ start: +start, end: +start + +length }]
    })
    .sort((a, b) => a.start - b.start)
  let next = first
  for (const { start, end } of mapped) if (start <= next) next = Math.max(next, end)
  return next >= first + count
}

/** False too where the kernel tells nothing: users that may not exist are not handed out. */
export const rangeExists = (first: number, count: number): boolean => {
  try {
    const maps = ["uid_map", "gid_map"].map(name => readFileSync(`/proc/self/${name}`, "utf8"))
    return maps.every(map => coversRange(map, first, count))
  } catch {
    return false
  }
}

/** The users of this machine whose ids, or ranges for containers of their own, lie in a range that is to be ours. */
export const ownersInRange = (
  files: { passwd: string; subuid: string },
  first: number,
  count: number,
): readonly string[] => {
  const taken = (text: string, idField: number, countField: number | undefined) =>
    text
      .split("\n")
      .map(line => line.split(":"))
      .filter(fields => {
        const start = Number(fields[idField])
        const length = countField === undefined ? 1 : Number(fields[countField])
        return fields.length > idField && start < first + count && start + length > first
      })
      .map(fields => fields[0] ?? "")
  return [...new Set([...taken(files.passwd, 2, undefined), ...taken(files.subuid, 1, 2)])]
}
