// Classifies rows of features: a layer, then a softmax, on a stream; checked on the CPU.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "linear.h"
#include "softmax.h"

namespace {

constexpr int kRows = 1000, kFeatures = 64, kClasses = 10;
constexpr int kNoGpu = 77;  // what test drivers take for "skipped"

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Memory of the device that holds a copy of some values.
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    require(cudaMalloc(&data_, count * sizeof(float)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<float>& values) : DeviceArray(values.size()) {
    require(cudaMemcpy(data_, values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice), "copy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  float* get() const { return static_cast<float*>(data_); }
  std::vector<float> values() const {
    std::vector<float> result(count_);
    require(cudaMemcpy(result.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    return result;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

std::vector<float> waves(int count, float step) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<float>(i));
  return values;
}

std::vector<float> on_cpu(const std::vector<float>& x, const std::vector<float>& w,
                          const std::vector<float>& bias) {
  std::vector<float> result(kRows * kClasses);
  for (int row = 0; row < kRows; ++row) {
    double scores[kClasses], total = 0.0;
    for (int c = 0; c < kClasses; ++c) {
      double sum = bias[c];
      for (int i = 0; i < kFeatures; ++i) sum += double(x[row * kFeatures + i]) * w[c * kFeatures + i];
      scores[c] = std::exp(std::fmax(sum, 0.0));
      total += scores[c];
    }
    for (int c = 0; c < kClasses; ++c) result[row * kClasses + c] = float(scores[c] / total);
  }
  return result;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("there is no GPU\n");
    return kNoGpu;
  }
  const std::vector<float> x = waves(kRows * kFeatures, 0.1f), w = waves(kClasses * kFeatures, 0.3f),
                           bias = waves(kClasses, 0.7f);
  const DeviceArray device_x(x), device_w(w), device_bias(bias);
  const DeviceArray scores(kRows * kClasses), chances(kRows * kClasses);

  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  require(model::linear(device_x.get(), device_w.get(), device_bias.get(), scores.get(), kRows, stream),
          "linear");
  require(model::softmax(scores.get(), chances.get(), kRows, kClasses, stream), "softmax");
  require(cudaStreamSynchronize(stream), "kernels");
  require(cudaStreamDestroy(stream), "cudaStreamDestroy");

  const std::vector<float> got = chances.values(), want = on_cpu(x, w, bias);
  float largest = 0.0f;
  for (std::size_t i = 0; i < got.size(); ++i) largest = std::fmax(largest, std::fabs(got[i] - want[i]));
  std::printf("largest difference from the CPU: %.2g\n", largest);
  return largest < 1e-5f ? 0 : 1;
}
