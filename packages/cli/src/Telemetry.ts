/**
 * Sends traces, metrics and logs to a collector.
 *
 * @since 0.1.0
 */
import { CaptureContent } from "@afterturn/agent/Telemetry"
import * as Otlp from "@effect/opentelemetry/Otlp"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Layer from "effect/Layer"
import type { ExporterOptions } from "./Exporter.js"
import { version } from "./Version.js"

/**
 * How long the end of the program waits for a collector that does not answer.
 *
 * @since 0.1.0
 * @category constants
 */
export const shutdownTimeout = "1 second"

/**
 * Exports what happens under it. A collector that is down costs nothing but what it would have had.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = ({ baseUrl, content, headers }: ExporterOptions): Layer.Layer<never> =>
  Otlp.layerJson({
    baseUrl,
    headers,
    resource: { serviceName: "afterturn", serviceVersion: version },
    shutdownTimeout
  }).pipe(Layer.provide(FetchHttpClient.layer), Layer.merge(Layer.succeed(CaptureContent, content)))
