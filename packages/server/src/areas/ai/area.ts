import { operatorUpstreams } from "../../core/ai/settings.ts"
import { provide } from "../../kernel/token.ts"
import { createCatalog } from "./catalog.ts"
import { createChat } from "./chat.ts"
import { createEmbeddings } from "./embeddings.ts"
import { createSpeech } from "./engines/speech/speech.ts"
import { createGateway } from "./gateway.ts"
import { aiHandlers } from "./handlers.ts"
import { createHealth } from "./health.ts"
import { createLedger } from "./ledger.ts"
import { createMedia } from "./media.ts"
import { createModelsOffer } from "./models-offer.ts"
import type { Needs } from "./needs.ts"
import { aiModels } from "./offers.ts"
import { createPaidLedger } from "./paid-ledger.ts"
import { createRouting } from "./routing.ts"
import { createSpeak } from "./speak.ts"
import { createUpstreamClient } from "./upstream-client.ts"

const EXPIRE_EVERY_MS = 60_000

export const start = async ({
  settings,
  box,
  changes,
  clock,
  database,
  jobs,
  log,
  meters,
  money,
  outbound,
}: Needs) => {
  await using opened = new AsyncDisposableStack()
  const { db } = database
  const budget = opened.use(createLedger({ db, clock, log }))
  const ledger = createPaidLedger({ budget, money })
  // What streams cost is known when they end, and must be stored before the database closes.
  opened.defer(() => ledger.settled())
  const client = opened.use(createUpstreamClient({ outbound, clock }))
  const catalog = createCatalog({ db, changes, box, installation: operatorUpstreams(settings) })
  const health = createHealth(clock.now)
  const routing = createRouting({ health, now: clock.now })
  const { aiUnknownPrice: unknownPriceMicros } = settings
  const gateway = createGateway({
    catalog,
    health,
    routing,
    ledger,
    client,
    clock,
    meters,
    unknownPriceMicros,
  })
  const chat = opened.use(createChat({ gateway, client, health, clock }))
  const embed = createEmbeddings({ gateway, catalog, ledger, client, clock })
  const speech = opened.use(createSpeech())
  const media = createMedia({ gateway, client, clock })
  const speak = createSpeak({ gateway, catalog, ledger, client, clock, speech })
  jobs.schedule({ name: "ai.expire", every: EXPIRE_EVERY_MS, run: async () => void (await ledger.expire()) })
  const { urlProblem } = outbound
  const operations = aiHandlers({
    box,
    changes,
    catalog,
    client,
    health,
    clock,
    urlProblem,
    chat,
    embed,
    media,
    speech,
    speak,
  })
  const provides = [provide(aiModels, createModelsOffer({ catalog, ledger, chat }))]
  const closing = opened.move()
  return { operations, provides, [Symbol.asyncDispose]: () => closing.disposeAsync() }
}
