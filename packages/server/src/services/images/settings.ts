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
    default: "20480",
    description: "Disk space in MiB for unpacked images; images in use are stored beyond it.",
    parse: integer(64, 67_108_864, 20_480),
  },
  imageMbMax: {
    variable: "SVC_IMAGE_MB_MAX",
    default: "10240",
    description: "Largest unpacked size in MiB of an image that is pulled.",
    parse: integer(1, 67_108_864, 10_240),
  },
  imageRegistries: {
    variable: "SVC_IMAGE_REGISTRIES",
    default: "any",
    description:
      "Registries from which public images can be pulled, as `docker.io,ghcr.io`; `none` for none. Private addresses also need SVC_OUTBOUND_ALLOW.",
    parse: registries,
  },
} as const satisfies Settings
