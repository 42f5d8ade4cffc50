import type { Settings } from "../../kernel/setting.ts"
import { integer } from "../../kernel/setting-parsers.ts"
import { parseReference } from "./reference.ts"

/** Names of registries; undefined: any. */
export const registries = (text?: string): readonly string[] | undefined => {
  if (text === undefined || text === "any") return undefined
  const list = text === "none" ? [] : text.split(",").map(part => part.trim().toLowerCase())
  const wrong = list.find(name => parseReference(`${name}/image`)?.registry !== name)
  if (wrong !== undefined)
    throw new RangeError(`names ${wrong}, which is not a registry such as docker.io or ghcr.io`)
  return list
}

export const settings = {
  imagesMb: {
    variable: "SVC_IMAGES_MB",
    otherwise: "20480",
    meaning: "Disk that unpacked images may take together; what is needed stays beyond it.",
    parse: integer(64, 67_108_864, 20_480),
  },
  imageMbMax: {
    variable: "SVC_IMAGE_MB_MAX",
    otherwise: "10240",
    meaning: "Size of the largest image that is pulled, unpacked.",
    parse: integer(1, 67_108_864, 10_240),
  },
  imageRegistries: {
    variable: "SVC_IMAGE_REGISTRIES",
    otherwise: "any",
    meaning:
      "Registries whose public images anybody may start from, as `docker.io,ghcr.io`; `none` for none. Private addresses " +
      "take SVC_OUTBOUND_ALLOW too.",
    parse: registries,
  },
} as const satisfies Settings
