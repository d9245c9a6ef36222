/* A C program that rewrites, runs and trains. It is compiled as C11, so that the header is C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amp_c.h"

static void Check(AmpContext* context, AmpCode code, const char* what) {
  if (code == AMP_OK) return;
  fprintf(stderr, "%s: %s (%d)\n", what, amp_error(context), (int)code);
  exit(1);
}

static void Expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "expected that %s\n", what);
  exit(1);
}

int main(void) {
  AmpContext* const context = amp_context_new();
  Expect(context != NULL && amp_abi() == AMP_ABI, "the library is of this header's version");
  AmpBytes model, mixed, step;
  const char *summary, *why;
  AmpReport* report;
  Check(context, amp_new_model(context, "mlp", "4-8-2", NULL, &model), "new model");
  Check(context,
        amp_rewrite(context, model, "{\"dtype\": \"float16\", \"deny\": [\"Relu\"]}", &mixed, &summary, &report),
        "rewrite");
  Expect(strstr(summary, "\"changed\":true") != NULL, "the model is changed");
  Check(context, amp_report_text(context, report, 1, &why), "explanation");
  Expect(strstr(why, "Relu") != NULL, "the float32 node is explained");
  Check(context, amp_report_json(context, report, &why), "report");
  Check(context, amp_report_html(context, report, &why), "page");
  Expect(strstr(why, "<!doctype html>") == why && strstr(why, "\"values\":{") != NULL, "the page has a graph");
  amp_report_free(report);

  float x[2][4] = {{1, 2, 3, 4}, {4, 3, 2, 1}};
  const int64_t shape[] = {2, 4}, count[] = {2};
  const AmpInput input = {"x", {x, shape, NULL, 1, 2}, NULL};
  AmpSession* session;
  AmpOutput output = {NULL, NULL, {NULL, NULL, NULL, 0, 0}, AMP_NOTHING};
  Check(context, amp_session_new(context, mixed, "{\"threads\": 1}", &session), "session");
  Check(context, amp_session_run(context, session, &input, 1, &output, 1), "run");
  const float* const y = output.tensor.data;
  Expect(output.kind == AMP_TENSOR && output.tensor.rank == 2 && output.tensor.shape[1] == 2, "y is [2, 2]");
  Expect(y[0] + y[1] > 0.99F && y[0] + y[1] < 1.01F, "probabilities sum to 1");
  amp_value_free(output.value);

  /* The same data as columns. */
  float columns[4][2];
  for (int i = 0; i < 8; ++i) columns[i % 4][i / 4] = x[i / 4][i % 4];
  const int64_t strides[] = {sizeof(float), 2 * sizeof(float)};
  const AmpInput strided = {"x", {columns, shape, strides, 1, 2}, NULL};
  AmpOutput again = {NULL, NULL, {NULL, NULL, NULL, 0, 0}, AMP_NOTHING}; /* a view of what was freed is no place */
  Check(context, amp_session_run(context, session, &strided, 1, &again, 1), "run on columns");
  Expect(((const float*)again.tensor.data)[0] > 0, "columns run");
  amp_value_free(again.value);
  Expect(amp_session_run(context, session, NULL, 0, &again, 1) == AMP_OPTION, "a missing input is an error");
  Expect(strstr(amp_error(context), "'x'") != NULL, "the error names it");
  Expect(amp_session_run(NULL, session, NULL, 0, NULL, 0) == AMP_OPTION, "no context is an error");
  amp_session_free(session);

  Check(context, amp_rewrite(context, model, "{\"train\": true, \"optimizer\": \"adam\"}", &step, NULL, NULL),
        "step graph");
  AmpTrainer* trainer;
  AmpStep done;
  const int64_t labels[] = {0, 1};
  const AmpInput batch[] = {input, {"labels", {labels, count, NULL, 7, 1}, NULL}};
  Check(context, amp_trainer_new(context, step, NULL, &trainer), "trainer");
  float first = 0;
  for (int i = 0; i < 20; ++i) {
    Check(context, amp_trainer_step(context, trainer, batch, 2, &done), "step");
    amp_value_free(done.logits.value);
    if (i == 0) first = done.loss;
  }
  Expect(done.finite && done.loss < first && amp_trainer_num_steps(trainer) == 20, "the loss falls");
  amp_trainer_free(trainer);
  amp_context_free(context);
  printf("rewrote, ran and trained: loss %g -> %g\n", (double)first, (double)done.loss);
  return 0;
}
