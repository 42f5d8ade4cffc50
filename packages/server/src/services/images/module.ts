import { defineService } from "../../kernel/service.ts"
import { clock, installation, log, outbound, stopping } from "../../kernel/tokens.ts"
import { settings } from "./settings.ts"
import { images } from "./token.ts"

export const imagesService = defineService({
  provides: images,
  settings,
  needs: { outbound, clock, log, stopping, installation },
  async open({ settings: values, outbound, clock, log, stopping, installation }, { opened }) {
    const { openImages } = await import("./images.ts")
    const images = openImages({
      dataDir: installation.dataDir,
      registries: values.imageRegistries,
      imageBytesMax: values.imageMbMax * 2 ** 20,
      storeBytesMax: values.imagesMb * 2 ** 20,
      outbound,
      clock,
      log,
      stopping,
    })
    return opened.use(await images)
  },
})
